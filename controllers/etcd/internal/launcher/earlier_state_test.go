package launcher

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher/wal"
)

func TestAnEarlierStateIsNamed(t *testing.T) {
	err := earlierStateError{"d1", wal.End{Term: 2, Index: 40}, wal.End{Term: 3, Index: 90}}
	code, message := exitOf(err)
	const want = "mainstay: the data is an earlier state: the log of d1 ends at entry 40 of term 2, and had entry 90 of term 3"
	if code != ExitEarlierState || message != want {
		t.Errorf("got %d, %s", code, message)
	}
	if data, end, ok := ParseEarlierState(message); !ok || data != "d1" || end != err.end {
		t.Errorf("it is read as %s, %v, %v", data, end, ok)
	}
	for _, other := range []string{"", DataLost + "d1", message[:len(message)-1], strings.Replace(message, "40", "many", 1)} {
		if data, end, ok := ParseEarlierState(other); ok {
			t.Errorf("%q is read as %s, %v", other, data, end)
		}
	}
}

func TestALogWhoseEndIsNotKnownStarts(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(dir+"/d/member/wal/0.wal", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := checkLog(Permit{Data: "d", Log: &wal.End{Term: 1, Index: 1}}, dir); err != nil {
		t.Error(err)
	}
}

// TestARealEarlierState puts back an earlier copy of the data of a real etcd, as a snapshot of a disk is put back.
func TestARealEarlierState(t *testing.T) {
	e, permit := newRealEtcd(t), Permit{Pod: "p1", Data: "d", Fresh: true, State: StateNew, Token: "t"}
	permit.InitialCluster = []string{"a=" + wordOf(e.words, "initial-advertise-peer-urls")}
	dir := newPod(t, permit)
	log, copied := dir+"/data/d/member/wal", dir+"/copied"
	// serve starts it, writes into it, and kills it. It returns where the log ends, by the server's own word.
	serve := func(writes int) wal.End {
		t.Helper()
		launcher := startLauncher(t, dir, e.words...)
		await(t, "it serves", func() bool { return len(e.members()) > 0 })
		for range writes {
			if err := e.put("key"); err != nil {
				t.Fatal(err)
			}
		}
		seen := e.committed()
		_ = launcher.Process.Kill()
		_ = launcher.ended()
		return seen
	}
	check := func(what string, seen wal.End, isEarlier bool) {
		t.Helper()
		end, err := wal.ReadEnd(log)
		if err != nil || end.IsBelow(seen) == !isEarlier {
			t.Errorf("%s: the log ends at %v, %v, and the server had %v", what, end, err, seen)
		}
		err = checkLog(Permit{Data: "d", Log: &seen}, dir+"/data")
		if errors.As(err, new(earlierStateError)) != isEarlier {
			t.Errorf("%s: %v", what, err)
		}
	}

	first := serve(20)
	check("killed", first, false)
	if err := os.CopyFS(copied, os.DirFS(dir+"/data/d")); err != nil {
		t.Fatal(err)
	}
	second := serve(20)
	check("killed again", second, false)
	if err := errors.Join(os.RemoveAll(dir+"/data/d"), os.CopyFS(dir+"/data/d", os.DirFS(copied))); err != nil {
		t.Fatal(err)
	}
	check("put back", second, true)
	check("put back, compared with what it had then", first, false)

	permit.Ran, permit.Log = true, &second
	writePermit(t, dir, permit)
	before, _ := filepath.Glob(log + "/*")
	if _, message, code := run(t, dir, StartCommand, os.Args[0], fakeEtcd); code != ExitEarlierState ||
		!strings.Contains(message, "the log of d ends at "+first.String()) {
		t.Errorf("it ends with %d: %s", code, message)
	}
	if after, _ := filepath.Glob(log + "/*"); len(after) != len(before) {
		t.Errorf("the log was changed: %v", after)
	}
}

// put writes a key.
func (r realEtcd) put(key string) error {
	text := base64.StdEncoding.EncodeToString([]byte(key))
	return r.post("/v3/kv/put", map[string]string{"key": text, "value": text}, &struct{}{})
}

// committed is the last entry that the server knows to be committed, and the term of the last that it has applied; zeros if it does not
// answer.
func (r realEtcd) committed() wal.End {
	var status struct{ RaftIndex, RaftTerm string }
	_ = r.post("/v3/maintenance/status", struct{}{}, &status)
	index, _ := strconv.ParseUint(status.RaftIndex, 10, 64)
	term, _ := strconv.ParseUint(status.RaftTerm, 10, 64)
	return wal.End{Term: term, Index: index}
}

// writePermit writes the permit of the pod.
func writePermit(t *testing.T, dir string, permit Permit) {
	t.Helper()
	text, err := json.Marshal(permit)
	if err = errors.Join(err, os.WriteFile(dir+"/permit", text, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// TestAKilledMemberHasWhatWasDurable kills a real etcd under writes, as often as KILLS says, and compares its log with the last entry
// but one that it had reported as committed. By hand: KILLS=100.
func TestAKilledMemberHasWhatWasDurable(t *testing.T) {
	kills := 2
	if text := os.Getenv("KILLS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	e, permit := newRealEtcd(t), Permit{Pod: "p1", Data: "d", Fresh: true, State: StateNew, Token: "t"}
	permit.InitialCluster = []string{"a=" + wordOf(e.words, "initial-advertise-peer-urls")}
	dir, durable, entries := newPod(t, permit), wal.End{}, uint64(0)
	for range kills {
		launcher := startLauncher(t, dir, e.words...)
		await(t, "it serves", func() bool { return len(e.members()) > 0 })
		var writers sync.WaitGroup
		for range 4 {
			writers.Go(func() {
				for err := error(nil); err == nil; err = e.put("key") { // until it is killed
					continue
				}
			})
		}
		last, start := wal.End{}, e.committed().Index
		await(t, "it writes", func() bool {
			if now := e.committed(); now.Index > last.Index {
				durable, last = last, now
			}
			return durable.Index > start+100
		})
		_ = launcher.Process.Kill()
		_ = launcher.ended()
		writers.Wait()
		if err := checkLog(Permit{Data: "d", Log: &durable}, dir+"/data"); err != nil {
			t.Fatal(err)
		}
		end, err := wal.ReadEnd(dir + "/data/d/member/wal")
		if err != nil {
			t.Fatal(err)
		}
		if err := checkLog(Permit{Data: "d", Log: &wal.End{Index: end.Index + 1}}, dir+"/data"); !errors.As(err, new(earlierStateError)) {
			t.Fatalf("the log that ends at %v is not found to end too early: %v", end, err)
		}
		entries = end.Index
	}
	t.Logf("killed %d times, the log ends at entry %d: never too early", kills, entries)
}
