package topology_test

import (
	"slices"
	"strings"
	"testing"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// onSnapshots is a set of three whose servers all ended, and started from their snapshots: the master's is older than those of
// its replicas, and has fewer keys.
func onSnapshots() *Scene {
	s := WithVolumes(Healthy(3))
	RestartAll(s)
	s.Spec.Persistence = &cachev1alpha1.RedisPersistence{Mode: cachev1alpha1.RedisPersistRDB}
	s.Settings.Live = config.Resolve(s.Redis).LiveDirectives(0)
	for i, offset := range []int64{50, 100, 90} {
		startedOn(s, i, History, offset)
	}
	return s
}

// startedOn makes a node one that has a snapshot of that history and offset, with as many keys.
func startedOn(s *Scene, n int, history string, offset int64) {
	s.Nodes[n].ReplID, s.Nodes[n].Offset, s.Nodes[n].Keys = history, offset, offset
}

// appending makes servers ones that start from an append-only file, which is written out as appendfsync says.
func appending(fsync string) func(*Scene) {
	return func(s *Scene) {
		s.Spec.Persistence = &cachev1alpha1.RedisPersistence{Mode: cachev1alpha1.RedisPersistAOF, AppendFsync: fsync}
		s.Settings.Live = config.Resolve(s.Redis).LiveDirectives(0)
	}
}

// woken makes a set one that was hibernated, and that its owner wakes with that size.
func woken(s *Scene, size int32) {
	s.Status.Replication, s.Spec.Size = nil, &size
	s.Nodes = s.Nodes[:min(int(size), len(s.Nodes))]
}

func TestTheFurthestSnapshotOfAHistoryWins(t *testing.T) {
	for _, c := range []struct {
		reason string
		given  func(*Scene)
		do     Verb
		node   string // that is promoted, or is waited for
		unsafe bool
	}{
		{"a replica's snapshot that is further than the master's", func(*Scene) {}, Promote, "a-1", false},
		{"the master's, if no other is further", func(s *Scene) { startedOn(s, 0, History, 100) }, Promote, "a-0", false},
		{"the furthest, though another has more keys", func(s *Scene) { s.Nodes[2].Keys = 999 }, Promote, "a-1", false},
		{"a set that wakes, or is recreated on its volumes, chooses in the same way", func(s *Scene) { woken(s, 3) }, Promote, "a-1", false},
		{"the master's, if the replicas' snapshots are of another history", func(s *Scene) {
			startedOn(s, 1, "before", 100)
			startedOn(s, 2, "before", 90)
		}, Promote, "a-0", false},
		{"the furthest of the master's history, next to another history", func(s *Scene) { startedOn(s, 1, "before", 999) }, Promote, "a-2",
			false},
		{"a snapshot of the recorded history, if the master's was taken before its promotion", func(s *Scene) {
			startedOn(s, 0, "before", 999)
			startedOn(s, 2, "before", 999)
		}, Promote, "a-1", false},
		{"the furthest of the former history, if no snapshot is of the recorded one", func(s *Scene) {
			for i, offset := range []int64{50, 100, 90} {
				startedOn(s, i, "before", offset)
			}
		}, Promote, "a-1", false},
		{"not one without keys, however far", func(s *Scene) { startedOn(s, 1, History, 100); s.Nodes[1].Keys = 0 }, Promote, "a-2", false},
		{"not one that was behind, however far", func(s *Scene) { SetStamp(s, "a-1", 7, Behind) }, Promote, "a-2", false},
		{"a volume of an earlier epoch does not win, however far", func(s *Scene) { SetStamp(s, "a-1", 6, Leading) }, Promote, "a-2", false},
		{"a replica in sync that does not answer is waited for", func(s *Scene) { Refused(&s.Nodes[1]) }, Wait, "a-1", false},
		{"a replica in sync that loads is waited for", func(s *Scene) { s.Nodes[1].Loading = true }, Wait, "a-1", false},
		{"a replica in sync whose previous pod is being deleted is waited for", func(s *Scene) { s.Nodes[1].Deleting = true }, Wait, "a-1",
			false},
		{"a master that does not answer is waited for, though a replica has loaded", func(s *Scene) { Refused(&s.Nodes[0]) }, Wait, "a-0", false},
		{"one that was behind is not waited for", func(s *Scene) { SetStamp(s, "a-2", 7, Behind); Refused(&s.Nodes[2]) }, Promote, "a-1", false},
		{"a replica whose claim was deleted is not waited for", func(s *Scene) { delete(s.Volumes, "a-2"); Refused(&s.Nodes[2]) }, Promote, "a-1",
			false},
		{"a master whose claim was deleted is not waited for", func(s *Scene) { delete(s.Volumes, "a-0"); Refused(&s.Nodes[0]) }, Promote, "a-1",
			false},
		{"a member that gets no pod is not waited for", func(s *Scene) { *s.Spec.Size, s.Nodes = 2, s.Nodes[:2]; ForgetMember(s, "a-2") },
			Promote, "a-1", false},
		{"a member beyond the size gets a pod, and is waited for", func(s *Scene) { *s.Spec.Size = 2; Refused(&s.Nodes[2]) }, Wait, "a-2", false},
		{"a human allows to start without it", func(s *Scene) { Refused(&s.Nodes[1]); unsafeAllowed(s) }, Promote, "a-2", true},
		{"what a human allows is not unsafe once all have started", unsafeAllowed, Promote, "a-1", false},
		{"the master's append-only file wins at once", func(s *Scene) { appending("everysec")(s); Refused(&s.Nodes[1]) }, Promote, "a-0", false},
		{"also when it is written out always", func(s *Scene) { appending("always")(s); Refused(&s.Nodes[1]) }, Promote, "a-0", false},
		{"one that is written out at the kernel's will may lack writes", func(s *Scene) { appending("no")(s); Refused(&s.Nodes[1]) }, Wait, "a-1",
			false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := onSnapshots()
			c.given(s)
			got := s.Situation().Plan()
			if got.Do != c.do || got.Unsafe != c.unsafe {
				t.Fatalf("got %s (%s, unsafe: %t), want %s %s", got, got.Message, got.Unsafe, c.do, c.node)
			}
			if c.do == Promote && !slices.Equal(got.NodeNames, []string{c.node}) {
				t.Errorf("got %s, want %s", got, c.node)
			}
			if c.do == Wait && (!strings.Contains(got.Message, ": "+c.node+"; ") ||
				!strings.Contains(got.Message, cachev1alpha1.RedisAllowUnsafePromotion+"=7") || got.RequeueAfter == 0) {
				t.Errorf("got %q, want that %s is waited for, and how to continue without it", got.Message, c.node)
			}
		})
	}
}

// A set that wakes with a smaller size starts the nodes beyond it whose snapshots may be the furthest, until there is a master.
func TestPodsReachTheFurthestSnapshot(t *testing.T) {
	for _, c := range []struct {
		reason string
		given  func(*Scene)
		want   int32
	}{
		{"a replica that was in sync", func(*Scene) {}, 3},
		{"one that was behind", func(s *Scene) { SetStamp(s, "a-2", 7, Behind) }, 2},
		{"one that was in sync in an earlier epoch", func(s *Scene) { SetStamp(s, "a-2", 6, Synced) }, 2},
		{"a replica with an append-only file", appending("everysec"), 2},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := onSnapshots()
			woken(s, 2)
			c.given(s)
			if got := s.Situation().DesiredPods(); got != c.want {
				t.Errorf("%d pods, want %d", got, c.want)
			}
			s.Nodes = s.Nodes[:2]
			if got := s.Situation().Plan(); (got.Do == Wait) != (c.want == 3) {
				t.Errorf("got %s (%s) with %d pods", got, got.Message, c.want)
			}
		})
	}
}
