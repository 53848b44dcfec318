package wire

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

const (
	someID = "0123456789abcdef0123456789abcdef01234567"
	// ofMaster is the least that every master shows.
	ofMaster = "run_id:" + someID + "\r\nrole:master\r\nmaster_replid:" + someID + "\r\n"
)

func TestParse(t *testing.T) {
	v, err := parse("# Server\r\nredis_version:7.2.4\r\nvalkey_version:8.1.1\r\n" + ofMaster + "loading:0\r\n" +
		"slave0:ip=10.0.0.2,port=6379,state=online,offset=5,lag=0\r\nmaster_repl_offset:7\r\ndb0:keys=2,expires=0\r\ndb3:keys=1,expires=0\r\n")
	if err != nil || v.Version != "8.1.1" || v.Keys != 3 || v.Offset != 7 || !v.Master || v.RunID != someID || len(v.Attached) != 1 ||
		v.Attached[0] != "10.0.0.2" {
		t.Fatalf("got %+v, %v", v, err)
	}
}

func TestParseRefusesWhatNoServerSays(t *testing.T) {
	for field, want := range map[string]string{
		"run_id:abc":                                `run_id in INFO is "abc", not 40 hexadecimal digits`,
		"run_id:" + strings.Repeat("A", 40):         "run_id in INFO",
		"master_replid:\xff\xfe":                    `master_replid in INFO is "\xff\xfe", not`,
		"master_replid2:" + someID + "0":            "master_replid2 in INFO",
		"redis_version:8.0\x1b[31m":                 `redis_version in INFO is "8.0\x1b[31m", not a version`,
		"valkey_version:" + strings.Repeat("8", 33): "valkey_version in INFO",
		"master_host:10.0.0.1 10.0.0.2":             "master_host in INFO",
		"master_host:fe80::1%\xff":                  "master_host in INFO",
		"master_repl_offset:99999999999999999999":   "master_repl_offset in INFO",
		"slave_repl_offset:1e9":                     "slave_repl_offset in INFO",
		"role:sentinel":                             `role in INFO is "sentinel", not master or slave`,
		"role:":                                     "INFO has no role",
		"slave0:ip=\xff,port=1":                     `"slave0" in INFO is at "\xff", not an address`,
		"slave0:ip=,port=1":                         `"slave0" in INFO is at ""`,
	} {
		if v, err := parse(ofMaster + field + "\r\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v", field, v, err)
		}
	}
	if _, err := parse(""); err == nil {
		t.Error("nothing is read as an answer")
	}
}

func TestParseWhenAReplicaHeardItsMaster(t *testing.T) {
	for text, want := range map[string]View{
		"master_link_status:up\nmaster_last_io_seconds_ago:1\nmaster_sync_in_progress:0": {LinkUp: true,
			LastIO: time.Second},
		"master_link_status:down\nmaster_last_io_seconds_ago:-1\nmaster_sync_in_progress:0\nmaster_link_down_since_seconds:7": {
			LastIO: 7 * time.Second},
		"master_link_status:down\nmaster_last_io_seconds_ago:0\nmaster_sync_in_progress:1\nmaster_link_down_since_seconds:-1": {Syncing: true,
			LastIO: -time.Second},
	} {
		v, err := parse(ofMaster + "role:slave\n" + text)
		if err != nil || v.LinkUp != want.LinkUp || v.LastIO != want.LastIO || v.Syncing != want.Syncing {
			t.Errorf("%q: %+v, %v", text, v, err)
		}
	}
}

func TestAsManyReplicasAsMatterAreReported(t *testing.T) {
	var info strings.Builder
	info.WriteString(ofMaster)
	for i := range 1000 {
		fmt.Fprintf(&info, "slave%d:ip=10.0.%d.%d,port=6379\r\n", i, i/256, i%256)
	}
	if v, err := parse(info.String()); err != nil || len(v.Attached) != maxAttached {
		t.Errorf("%d of them, %v", len(v.Attached), err)
	}
}

func FuzzInfo(f *testing.F) {
	f.Fuzz(func(t *testing.T, info string) {
		v, err := parse(info)
		if err == nil {
			isJudged(t, v)
		} else if text := unreadableReason(err); text == "" || len(text) > 1024 || !utf8.ValidString(text) {
			t.Errorf("it shows %q", text)
		}
	})
}

// isJudged fails for a view that holds what no server says.
func isJudged(t *testing.T, v View) {
	t.Helper()
	if v.Answer != Reached || !idPattern.MatchString(v.RunID) || !idPattern.MatchString(v.ReplID) || v.FormerReplID != "" &&
		!idPattern.MatchString(v.FormerReplID) ||
		v.Version != "" && !versionPattern.MatchString(v.Version) || v.MasterHost != "" && !isHost(v.MasterHost) ||
		len(v.Attached) > maxAttached {
		t.Errorf("it lets through %+v", v)
	}
	for _, address := range v.Attached {
		if !isHost(address) {
			t.Errorf("it lets through %q", address)
		}
	}
}
