package fault

import (
	"testing"
	"time"
)

func TestParseInfo(t *testing.T) {
	replica := "# Server\r\nrun_id:aaaa\r\nloading:0\r\nasync_loading:0\r\nsync_full:3\r\nrole:slave\r\nmaster_host:10.0.0.1\r\n" +
		"master_link_status:up\r\nmaster_sync_in_progress:0\r\nmaster_replid:hist\r\ndb0:keys=12,expires=1,avg_ttl=0\r\ndb3:keys=2,expires=0\r\n"
	if got, want := parseInfo(replica), (Info{RunID: "aaaa", ReplID: "hist", Follows: "10.0.0.1", LinkUp: true, Keys: 14,
		FullSyncs: 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	master := "run_id:bbbb\r\nrole:master\r\nmaster_replid:hist\r\nloading:1\r\n"
	if got, want := parseInfo(master), (Info{RunID: "bbbb", ReplID: "hist", Master: true, Loading: true}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// trio is a set as it should be.
func trio() []Server {
	follower := Info{ReplID: "hist", Follows: "10.0.0.1", LinkUp: true}
	first, second := follower, follower
	first.RunID, second.RunID = "one", "two"
	return []Server{
		{Pod: "data-0", Address: "10.0.0.1", Info: Info{RunID: "zero", ReplID: "hist", Master: true, Keys: 5}},
		{Pod: "data-1", Address: "10.0.0.2", Info: first},
		{Pod: "data-2", Address: "10.0.0.3", Info: second},
	}
}

func TestWhole(t *testing.T) {
	for name, spoil := range map[string]func([]Server){
		"a silent node":     func(s []Server) { s[2].Info = Info{} },
		"no master":         func(s []Server) { s[0].Master = false },
		"two masters":       func(s []Server) { s[1].Master = true },
		"follows another":   func(s []Server) { s[1].Follows = "127.0.0.1" },
		"does not hear":     func(s []Server) { s[1].LinkUp = false },
		"another history":   func(s []Server) { s[2].ReplID = "other" },
		"loading":           func(s []Server) { s[2].Loading = true },
		"a pod that leaves": func(s []Server) { s[2].Leaving = true },
	} {
		set := trio()
		if !IsFullyReplicated(set, 3) || IsFullyReplicated(set, 2) || IsFullyReplicated(set, 4) {
			t.Fatalf("%v is whole with three and only three", set)
		}
		if spoil(set); IsFullyReplicated(set, 3) {
			t.Errorf("%s: %v is not whole", name, set)
		}
	}
	if IsFullyReplicated(nil, 0) {
		t.Error("nothing is not whole")
	}
}

func TestServersConclude(t *testing.T) {
	s := &Servers{syncs: map[string]int64{}}
	at := time.Now()
	see := func(after time.Duration, change func([]Server)) {
		set := trio()
		change(set)
		s.conclude(at.Add(after), set)
	}
	see(0, func([]Server) {})
	see(1, func(set []Server) { set[0].FullSyncs = 2 })
	if since, whole, err := s.FullyReplicatedSince(3); !whole || err != nil || !since.Equal(at) {
		t.Errorf("whole %v since %s: %v", whole, since, err)
	}
	see(2, func(set []Server) { set[0].Info = Info{} })
	if _, whole, _ := s.FullyReplicatedSince(3); whole {
		t.Error("it is not whole without its master")
	}
	see(3, func(set []Server) { set[0].RunID, set[0].FullSyncs, set[0].Keys = "again", 1, 0 })
	if since, _, _ := s.FullyReplicatedSince(3); !since.Equal(at.Add(3)) {
		t.Errorf("whole since %s, not since it became so again", since)
	}
	if s.FullSyncs() != 3 {
		t.Errorf("%d full syncs, want those of the process before and of this one", s.FullSyncs())
	}
	if len(s.Emptied()) != 0 {
		t.Errorf("%v: another process is not the one that had data", s.Emptied())
	}
	see(4, func(set []Server) { set[0].Keys = 7 })
	see(5, func(set []Server) { set[0].Keys = 0 })
	if len(s.Emptied()) != 1 {
		t.Errorf("%v: it had data and has none", s.Emptied())
	}
	if lines := s.Timeline(); len(lines) != 4 {
		t.Errorf("%d lines, want one per change: %q", len(lines), lines)
	}
}
