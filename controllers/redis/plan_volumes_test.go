package redis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// recreatedOnVolumes is a new object on the volumes of another: all nodes hold data.
func recreatedOnVolumes(size int32) *scene {
	s := withVolumes(healthy(size))
	s.Status = cachev1alpha1.RedisStatus{}
	for i := range s.members {
		fresh(&s.members[i])
		s.members[i].Keys = int64(10 * (i + 1)) // the less, the more they are worth
	}
	return s
}

// emptiedWords ask a human what is right.
func emptiedWords(newest, older string, keys int) string {
	return fmt.Sprintf("%s, in sync last, started with no key; %s, which was behind, with %d. "+
		"If it is right that there are no keys, annotate this object with %s=0; to go on with the data of the latter instead, annotate it with %s=%s, too",
		newest, older, keys, cachev1alpha1.RedisAllowUnsafePromotion, cachev1alpha1.RedisSwitchover, older)
}

func TestBeginningAgainOnVolumes(t *testing.T) {
	for _, c := range []struct {
		reason string
		given  func(*scene)
		do     verb
		nodes  []string
		why    string
	}{
		{"the master of the last epoch, as soon as it is there", func(s *scene) { makeSilent(&s.members[1]) }, promote, []string{"a-0"}, "Recovering"},
		{"whatever its ordinal", func(s *scene) { setStamp(s, "a-1", 8, leading); setStamp(s, "a-2", 8, synced) }, promote, []string{"a-1"}, "Recovering"},
		{"it is waited for", func(s *scene) { makeSilent(&s.members[0]) }, wait, nil, "waiting for a-0"},
		{"also while it loads", func(s *scene) { s.members[0].Loading = true }, wait, nil, "waiting for a-0"},
		{"and while its pod before this one is going", func(s *scene) { s.members[0].deleting = true }, wait, nil, "waiting for a-0"},
		{"emptied, one that was in sync, once all are there", func(s *scene) { s.members[0].Keys = 0; setStamp(s, "a-2", 7, behind) }, promote, []string{"a-1"}, "Recovering"},
		{"not before", func(s *scene) { s.members[0].Keys = 0; makeSilent(&s.members[2]) }, wait, nil, "waiting for a-2"},
		{"its volume lost, one that was in sync", func(s *scene) { delete(s.volumes, "a-0"); s.members[0].Keys = 99; setStamp(s, "a-2", 7, behind) }, promote, []string{"a-1"}, "Recovering"},
		{"of those in sync the one with most", func(s *scene) { delete(s.volumes, "a-0") }, promote, []string{"a-2"}, "Recovering"},
		{"an earlier epoch counts less than being behind", func(s *scene) {
			delete(s.volumes, "a-0")
			setStamp(s, "a-1", 7, behind)
			setStamp(s, "a-2", 6, leading)
		}, promote, []string{"a-1"}, "Recovering"},
		{"within one history the offset counts, not the keys", func(s *scene) {
			delete(s.volumes, "a-0")
			s.members[1].ReplID, s.members[2].ReplID, s.members[1].Offset = history, history, 9
		}, promote, []string{"a-1"}, "Recovering"},
		{"beyond the size too", func(s *scene) { setStamp(s, "a-4", 8, leading) }, wait, nil, "waiting for a-4"},
		{"an empty set begins with its last master", func(s *scene) {
			setStamp(s, "a-2", 8, leading)
			for i := range s.members {
				s.members[i].Keys = 0
			}
		}, promote, []string{"a-2"}, "Recovering"},
		{"and is no new one while a volume is missing", func(s *scene) {
			for i := range s.members {
				s.members[i].Keys = 0
			}
			makeSilent(&s.members[0])
		}, wait, nil, "waiting for a-0"},
		{"an emptied master is not begun with while others may have all", func(s *scene) {
			for i := range s.members {
				s.members[i].Keys = 0
			}
			makeSilent(&s.members[2])
		}, wait, nil, "waiting for a-2"},
		{"who was behind is not begun with, though it alone holds keys", func(s *scene) {
			s.members[0].Keys, s.members[1].Keys = 0, 0
			setStamp(s, "a-2", 7, behind)
		}, block, nil, emptiedWords("a-0, a-1", "a-2", 30)},
		{"nor who was last in sync in an older epoch", func(s *scene) {
			s.members[0].Keys = 0
			setStamp(s, "a-0", 8, leading)
		}, block, nil, emptiedWords("a-0", "a-2", 30)},
		{"volumes that were never used", func(s *scene) {
			for i := range s.members {
				s.members[i].Keys = 0
				s.volumes[s.members[i].name] = volume{}
			}
		}, promote, []string{"a-0"}, "Forming"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := recreatedOnVolumes(3)
			c.given(s)
			if got := s.situation().plan(); got.do != c.do || !slices.Equal(got.nodes, c.nodes) || cmp.Or(got.message, got.reason) != c.why {
				t.Errorf("got %s (%s), want %s %v (%s)", got, got.message, c.do, c.nodes, c.why)
			}
		})
	}
}

// The newest volumes hold nothing, which may be right, and an older one does.
func TestAHumanTellsWhetherEmptyIsRight(t *testing.T) {
	for _, c := range []struct {
		reason, older string
		node          string
	}{
		{"it is", "", "a-0"},
		{"the older data is", "a-2", "a-2"},
		{"it is, and another is asked for", "a-1", "a-0"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := withVolumes(healthy(3))
			restartAll(s)
			s.members[2].Keys = 50
			setStamp(s, "a-2", 6, synced)
			unsafeAllowed(s)
			if c.older != "" {
				s.Annotations[cachev1alpha1.RedisSwitchover] = c.older
			}
			if got := s.situation().plan(); got.do != promote || !slices.Equal(got.nodes, []string{c.node}) || !got.unsafe {
				t.Errorf("got %s (%s, unsafe: %t), want %s", got, got.message, got.unsafe, c.node)
			}
		})
	}
}

func TestTotalRestartPrefersTheLaterOfStatusAndVolumes(t *testing.T) {
	s := withVolumes(healthy(3))
	restartAll(s)
	for i := range s.members {
		s.members[i].Keys = 1
	}
	if got := s.situation().plan(); got.do != promote || got.nodes[0] != "a-0" {
		t.Errorf("by the status: %s", got)
	}
	setStamp(s, "a-2", 9, leading)
	if got := s.situation().plan(); got.do != promote || got.nodes[0] != "a-2" {
		t.Errorf("by a later volume: %s", got)
	}
}

func TestPodsReachTheNewestVolume(t *testing.T) {
	s := recreatedOnVolumes(3)
	for reason, c := range map[string]struct {
		name  string
		epoch int64
		is    standing
		want  int32
	}{
		"the last master":       {"a-4", 8, leading, 5},
		"scaled in long ago":    {"a-4", 6, leading, 3},
		"in sync with a master": {"a-4", 7, synced, 3},
	} {
		setStamp(s, c.name, c.epoch, c.is)
		if got := s.situation().desiredPods(); got != c.want {
			t.Errorf("%s: %d pods, want %d", reason, got, c.want)
		}
		delete(s.volumes, c.name)
	}
}

func TestStampsThatAreDue(t *testing.T) {
	for _, c := range []struct {
		reason         string
		given          func(*scene)
		first, vouched []string // stamped before anybody follows, and when all is calm
	}{
		{"nothing", func(*scene) {}, nil, nil},
		{"traffic", func(s *scene) { s.members[0].Offset += 1000 }, nil, nil},
		{"a link that is down for a moment", func(s *scene) { s.members[1].LinkUp = false }, nil, nil},
		{"a node that does not answer", func(s *scene) { makeSilent(&s.members[1]) }, nil, nil},
		{"a replica that was restarted", func(s *scene) { fresh(&s.members[1]) }, []string{"a-1"}, nil},
		{"and has come to be in sync", func(s *scene) { setStamp(s, "a-1", 7, behind) }, nil, []string{"a-1"}},
		{"one that left the sync set", func(s *scene) { forgetMember(s, "a-1"); s.members[1].LinkUp = false }, []string{"a-1"}, nil},
		{"or has not yet", func(s *scene) { setStamp(s, "a-1", 7, behind); s.members[1].LinkUp = false }, nil, nil},
		{"a new master", func(s *scene) { setStamp(s, "a-0", 6, synced) }, []string{"a-0"}, nil},
		{"a new history of the same epoch", func(s *scene) {
			s.Status.Replication.ReplID, s.members[0].ReplID = nextHistory, nextHistory
			s.members[1].ReplID = nextHistory
		}, []string{"a-0"}, []string{"a-1"}},
		{"the master before, in sync again", func(s *scene) { setStamp(s, "a-1", 6, leading) }, nil, []string{"a-1"}},
		{"the master before, still away", func(s *scene) { setStamp(s, "a-1", 6, leading); makeSilent(&s.members[1]) }, nil, nil},
		{"a volume whose node was scaled away", func(s *scene) { setStamp(s, "a-5", 6, synced) }, nil, nil},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := withVolumes(healthy(3))
			c.given(s)
			first, _ := s.situation().stampVolumes(s.members[0])
			if later := s.situation().volumesInSync(); !slices.Equal(first.nodes, c.first) || !slices.Equal(later, c.vouched) {
				t.Errorf("got %v and %v, want %v and %v", first.nodes, later, c.first, c.vouched)
			}
		})
	}
}

func TestStampIsReadAsWritten(t *testing.T) {
	for _, want := range []stamp{{1, history, behind}, {2, history, synced}, {3, history, leading}} {
		if got := readStamp(want.annotations()); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	for _, none := range []map[string]string{nil, {annotationEpoch: "x", annotationRole: roleMaster}, {annotationEpoch: "-3"}, {annotationEpoch: "99999999999999999999"}} {
		if got := readStamp(none); got != (stamp{}) {
			t.Errorf("%v is read as %+v", none, got)
		}
	}
	written := stamp{7, history, leading}.annotations()
	if want := map[string]string{
		"mainstay-operator.io/epoch": "7", "mainstay-operator.io/replid": history,
		"mainstay-operator.io/role": "master", "mainstay-operator.io/in-sync": "true"}; !maps.Equal(written, want) {
		t.Errorf("got %v", written)
	}
}

func TestWithoutStorageNothingIsStamped(t *testing.T) {
	s := healthy(3)
	first, any := s.situation().stampVolumes(s.members[0])
	if later := s.situation().volumesInSync(); any || len(first.nodes)+len(later) > 0 {
		t.Errorf("got %v and %v", first.nodes, later)
	}
	s.members[0].View = wire.View{} // nor without a master
	if later := s.situation().volumesInSync(); len(later) > 0 {
		t.Errorf("got %v", later)
	}
}
