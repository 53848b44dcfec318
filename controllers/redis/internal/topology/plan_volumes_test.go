package topology_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// recreatedOnVolumes is a new object on the volumes of another: all nodes hold data.
func recreatedOnVolumes(size int32) *Scene {
	s := WithVolumes(Healthy(size))
	s.Status = cachev1alpha1.RedisStatus{}
	for i := range s.Nodes {
		Fresh(&s.Nodes[i])
		s.Nodes[i].Keys = int64(10 * (i + 1)) // the less, the more they are worth
	}
	return s
}

// emptiedWords ask a human what is right.
func emptiedWords(newest, older string, keys int) string {
	return fmt.Sprintf("the nodes with the newest data started without keys: %s; %s has %d keys, which may be out of date. "+
		"If the keys were deleted on purpose, annotate this object with %s=0: the Redis starts empty. "+
		"If they were lost, annotate it with %s=%s as well: the Redis starts with the keys of %s",
		newest, older, keys, cachev1alpha1.RedisAllowUnsafePromotion, cachev1alpha1.RedisSwitchover, older, older)
}

// missingWords say which nodes are waited for, and why.
func missingWords(names string) string {
	return "before a master is chosen, these nodes must start and load their data, which may be the newest: " + names +
		"; if they do not, see the events and logs of their pods"
}

func TestStartingAgainOnVolumes(t *testing.T) {
	for _, c := range []struct {
		reason string
		given  func(*Scene)
		do     Verb
		nodes  []string
		why    string
	}{
		{"the master of the last epoch, as soon as it is there", func(s *Scene) { MakeSilent(&s.Nodes[1]) }, Promote, []string{"a-0"},
			"Recovering"},
		{"whatever its ordinal", func(s *Scene) { SetStamp(s, "a-1", 8, Leading); SetStamp(s, "a-2", 8, Synced) }, Promote, []string{"a-1"},
			"Recovering"},
		{"it is waited for", func(s *Scene) { MakeSilent(&s.Nodes[0]) }, Wait, nil, missingWords("a-0")},
		{"also while it loads", func(s *Scene) { s.Nodes[0].Loading = true }, Wait, nil, missingWords("a-0")},
		{"the last master is waited for while its previous pod is going", func(s *Scene) { s.Nodes[0].Deleting = true }, Wait, nil,
			missingWords("a-0")},
		{"emptied, one that was in sync, once all are there", func(s *Scene) { s.Nodes[0].Keys = 0; SetStamp(s, "a-2", 7, Behind) }, Promote,
			[]string{"a-1"}, "Recovering"},
		{"not before", func(s *Scene) { s.Nodes[0].Keys = 0; MakeSilent(&s.Nodes[2]) }, Wait, nil, missingWords("a-2")},
		{"its volume lost, one that was in sync", func(s *Scene) {
			delete(s.Volumes, "a-0")
			s.Nodes[0].Keys = 99
			SetStamp(s, "a-2", 7,
				Behind)
		}, Promote, []string{"a-1"}, "Recovering"},
		{"of those in sync the one with most", func(s *Scene) { delete(s.Volumes, "a-0") }, Promote, []string{"a-2"}, "Recovering"},
		{"an earlier epoch counts less than being behind", func(s *Scene) {
			delete(s.Volumes, "a-0")
			SetStamp(s, "a-1", 7, Behind)
			SetStamp(s, "a-2", 6, Leading)
		}, Promote, []string{"a-1"}, "Recovering"},
		{"within one history the offset counts, not the keys", func(s *Scene) {
			delete(s.Volumes, "a-0")
			s.Nodes[1].ReplID, s.Nodes[2].ReplID, s.Nodes[1].Offset = History, History, 9
		}, Promote, []string{"a-1"}, "Recovering"},
		{"beyond the size too", func(s *Scene) { SetStamp(s, "a-4", 8, Leading) }, Wait, nil, missingWords("a-4")},
		{"an empty set starts with its last master", func(s *Scene) {
			SetStamp(s, "a-2", 8, Leading)
			for i := range s.Nodes {
				s.Nodes[i].Keys = 0
			}
		}, Promote, []string{"a-2"}, "Recovering"},
		{"an empty set does not start while its last master is missing", func(s *Scene) {
			for i := range s.Nodes {
				s.Nodes[i].Keys = 0
			}
			MakeSilent(&s.Nodes[0])
		}, Wait, nil, missingWords("a-0")},
		{"an emptied master is not started with while others may have all", func(s *Scene) {
			for i := range s.Nodes {
				s.Nodes[i].Keys = 0
			}
			MakeSilent(&s.Nodes[2])
		}, Wait, nil, missingWords("a-2")},
		{"who was behind is not started with, though it alone holds keys", func(s *Scene) {
			s.Nodes[0].Keys, s.Nodes[1].Keys = 0, 0
			SetStamp(s, "a-2", 7, Behind)
		}, Block, nil, emptiedWords("a-0, a-1", "a-2", 30)},
		{"a node that was last in sync in an older epoch is not started with", func(s *Scene) {
			s.Nodes[0].Keys = 0
			SetStamp(s, "a-0", 8, Leading)
		}, Block, nil, emptiedWords("a-0", "a-2", 30)},
		{"volumes that were never used", func(s *Scene) {
			for i := range s.Nodes {
				s.Nodes[i].Keys = 0
				s.Volumes[s.Nodes[i].Name] = Volume{}
			}
		}, Promote, []string{"a-0"}, "Forming"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := recreatedOnVolumes(3)
			c.given(s)
			if got := s.Situation().Plan(); got.Do != c.do || !slices.Equal(got.NodeNames, c.nodes) || cmp.Or(got.Message, got.Reason) != c.why {
				t.Errorf("got %s (%s), want %s %v (%s)", got, got.Message, c.do, c.nodes, c.why)
			}
		})
	}
}

// The newest volumes hold nothing, which may be right, and an older one does.
func TestAHumanDecidesWhetherEmptyIsRight(t *testing.T) {
	for _, c := range []struct {
		reason, older string
		node          string
	}{
		{"it is", "", "a-0"},
		{"the older data is", "a-2", "a-2"},
		{"it is, and another is asked for", "a-1", "a-0"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := WithVolumes(Healthy(3))
			RestartAll(s)
			s.Nodes[2].Keys = 50
			SetStamp(s, "a-2", 6, Synced)
			unsafeAllowed(s)
			if c.older != "" {
				s.Annotations[cachev1alpha1.RedisSwitchover] = c.older
			}
			if got := s.Situation().Plan(); got.Do != Promote || !slices.Equal(got.NodeNames, []string{c.node}) || !got.Unsafe {
				t.Errorf("got %s (%s, unsafe: %t), want %s", got, got.Message, got.Unsafe, c.node)
			}
		})
	}
}

func TestTotalRestartPrefersTheLaterOfStatusAndVolumes(t *testing.T) {
	s := WithVolumes(Healthy(3))
	RestartAll(s)
	for i := range s.Nodes {
		s.Nodes[i].Keys = 1
	}
	if got := s.Situation().Plan(); got.Do != Promote || got.NodeNames[0] != "a-0" {
		t.Errorf("by the status: %s", got)
	}
	SetStamp(s, "a-2", 9, Leading)
	if got := s.Situation().Plan(); got.Do != Promote || got.NodeNames[0] != "a-2" {
		t.Errorf("by a later volume: %s", got)
	}
}

func TestPodsReachTheNewestVolume(t *testing.T) {
	s := recreatedOnVolumes(3)
	for reason, c := range map[string]struct {
		name  string
		epoch int64
		is    Standing
		want  int32
	}{
		"the last master":       {"a-4", 8, Leading, 5},
		"scaled in long ago":    {"a-4", 6, Leading, 3},
		"in sync with a master": {"a-4", 7, Synced, 3},
	} {
		SetStamp(s, c.name, c.epoch, c.is)
		if got := s.Situation().DesiredPods(); got != c.want {
			t.Errorf("%s: %d pods, want %d", reason, got, c.want)
		}
		delete(s.Volumes, c.name)
	}
}

// stampedFirst are the volumes that are stamped before all else that is to be done.
func stampedFirst(s *Scene) []string {
	if next := s.Situation().Plan(); next.Do == StampVolumes {
		return next.NodeNames
	}
	return nil
}

func TestStampsThatAreDue(t *testing.T) {
	for _, c := range []struct {
		reason         string
		given          func(*Scene)
		first, vouched []string // stamped before anybody follows, and when all is calm
	}{
		{"nothing", func(*Scene) {}, nil, nil},
		{"traffic", func(s *Scene) { s.Nodes[0].Offset += 1000 }, nil, nil},
		{"a link that is down for a moment", func(s *Scene) { s.Nodes[1].LinkUp = false }, nil, nil},
		{"a node that does not answer", func(s *Scene) { MakeSilent(&s.Nodes[1]) }, nil, nil},
		{"a replica that was restarted", func(s *Scene) { Fresh(&s.Nodes[1]) }, []string{"a-1"}, nil},
		{"the volume of a replica that has come to be in sync is stamped", func(s *Scene) { SetStamp(s, "a-1", 7, Behind) }, nil,
			[]string{"a-1"}},
		{"one that left the sync set", func(s *Scene) { ForgetMember(s, "a-1"); s.Nodes[1].LinkUp = false }, []string{"a-1"}, nil},
		{"the volume of a replica that is not in sync yet is not stamped",
			func(s *Scene) { SetStamp(s, "a-1", 7, Behind); s.Nodes[1].LinkUp = false }, nil, nil},
		{"a new master", func(s *Scene) { SetStamp(s, "a-0", 6, Synced) }, []string{"a-0"}, nil},
		{"a new history of the same epoch", func(s *Scene) {
			s.Status.Replication.ReplID, s.Nodes[0].ReplID = NextHistory, NextHistory
			s.Nodes[1].ReplID = NextHistory
		}, []string{"a-0"}, []string{"a-1"}},
		{"the master before, in sync again", func(s *Scene) { SetStamp(s, "a-1", 6, Leading) }, nil, []string{"a-1"}},
		{"the master before, still away", func(s *Scene) { SetStamp(s, "a-1", 6, Leading); MakeSilent(&s.Nodes[1]) }, nil, nil},
		{"a volume whose node was scaled away", func(s *Scene) { SetStamp(s, "a-5", 6, Synced) }, nil, nil},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := WithVolumes(Healthy(3))
			c.given(s)
			first, later := stampedFirst(s), s.Situation().VolumesInSync()
			if !slices.Equal(first, c.first) || !slices.Equal(later, c.vouched) {
				t.Errorf("got %v and %v, want %v and %v", first, later, c.first, c.vouched)
			}
		})
	}
}

func TestStampIsReadAsWritten(t *testing.T) {
	for _, want := range []Stamp{{1, History, Behind}, {2, History, Synced}, {3, History, Leading}} {
		if got := ReadStamp(want.Annotations()); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	for _, none := range []map[string]string{nil, {"mainstay-operator.io/epoch": "x", LabelRole: RoleMaster},
		{"mainstay-operator.io/epoch": "-3"}, {"mainstay-operator.io/epoch": "99999999999999999999"}} {
		if got := ReadStamp(none); got != (Stamp{}) {
			t.Errorf("%v is read as %+v", none, got)
		}
	}
	written := Stamp{7, History, Leading}.Annotations()
	if want := map[string]string{
		"mainstay-operator.io/epoch": "7", "mainstay-operator.io/replid": History,
		"mainstay-operator.io/role": "master", "mainstay-operator.io/in-sync": "true"}; !maps.Equal(written, want) {
		t.Errorf("got %v", written)
	}
}

func TestWithoutStorageNothingIsStamped(t *testing.T) {
	s := Healthy(3)
	if first, later := stampedFirst(s), s.Situation().VolumesInSync(); len(first)+len(later) > 0 {
		t.Errorf("got %v and %v", first, later)
	}
	s.Nodes[0].View = wire.View{} // nor without a master
	if later := s.Situation().VolumesInSync(); len(later) > 0 {
		t.Errorf("got %v", later)
	}
}
