package redis

import (
	"slices"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
)

// makeLaterMaster makes a member a master of a later history, with these replicas, that the record does not know.
func makeLaterMaster(s *scene, n int, followers ...int) {
	m := &s.members[n]
	m.Master, m.MasterHost, m.ReplID, m.FormerReplID, m.FormerOffset, m.MinReplicas = true, "", nextHistory, history, 100, 1
	for _, f := range followers {
		s.members[f].MasterHost, s.members[f].ReplID = m.address, nextHistory
	}
}

// wentOn is frozen with a history after the record's.
func wentOn(m *member) {
	frozen(m, 100)
	m.ReplID, m.FormerReplID, m.FormerOffset = nextHistory, history, 90
}

func unsafeAllowed(s *scene) {
	s.Annotations = map[string]string{cachev1alpha1.RedisAllowUnsafePromotion: "7"}
}

// withMinReplicas sets W, of the record and of the spec.
func withMinReplicas(s *scene, record, spec int32) {
	s.Status.Replication.EffectiveMinReplicas, s.members[0].MinReplicas = record, record
	s.Spec.Durability = &cachev1alpha1.RedisDurability{MinReplicasToWrite: ptr.To(spec)}
}

// The record may be older than the servers, as after a restore of the API server.
func TestRecordThatMayBeOutdated(t *testing.T) {
	for _, c := range []struct {
		reason string
		size   int32
		given  func(*scene)
		do     verb
		nodes  []string
	}{
		{"a master that can confirm writes is the right one", 3, func(s *scene) { refused(&s.members[0]); makeLaterMaster(s, 1, 2) }, recordMaster, []string{"a-1"}},
		{"not one that is followed by too few", 3, func(s *scene) {
			refused(&s.members[0])
			makeLaterMaster(s, 1, 2)
			s.members[1].MinReplicas = 2
		}, fence, []string{"a-1"}},
		{"nor by nobody, though it asks for none", 3, func(s *scene) {
			refused(&s.members[0])
			makeLaterMaster(s, 1)
			s.members[1].MinReplicas, s.members[2].LinkUp = 0, false
		}, fence, []string{"a-1"}},
		{"nor while the one of record confirms writes, too", 5, func(s *scene) { makeLaterMaster(s, 3, 4) }, block, nil},
		{"nor while that one needs nobody to confirm", 3, func(s *scene) { withMinReplicas(s, 0, 0); makeLaterMaster(s, 1, 2) }, block, nil},
		{"but where it can confirm none", 3, func(s *scene) { makeLaterMaster(s, 1, 2) }, recordMaster, []string{"a-1"}},
		{"not one that the master of record went on from, however many follow it", 5, func(s *scene) {
			makeLaterMaster(s, 1, 2)
			s.members[0].FormerReplID = nextHistory
		}, fence, []string{"a-1"}},
		{"also while that one can confirm none", 3, func(s *scene) {
			makeLaterMaster(s, 1, 2)
			s.members[0].FormerReplID = nextHistory
		}, fence, []string{"a-1"}},
		{"nor the one before the master of record, which does not answer now", 3, func(s *scene) {
			makeSilent(&s.members[0])
			makeLaterMaster(s, 1, 2)
			s.Status.Replication.FormerReplID = nextHistory
		}, fence, []string{"a-1"}},
		{"nor one of an earlier epoch", 5, func(s *scene) {
			makeLaterMaster(withVolumes(s), 1, 2)
			s.volumes["a-1"] = volume{stamp: stamp{6, nextHistory, leading}}
		}, fence, []string{"a-1"}},
		{"of two a human chooses", 5, func(s *scene) { refused(&s.members[0]); makeLaterMaster(s, 1, 2); makeLaterMaster(s, 3, 4) }, block, nil},

		{"a dead master: of two histories a human chooses", 3, func(s *scene) {
			refused(&s.members[0])
			freezeAll(s, 90, 95)
			s.members[2].ReplID = "elsewhere"
		}, block, nil},
		{"as told", 3, func(s *scene) {
			refused(&s.members[0])
			freezeAll(s, 90, 95)
			s.members[2].ReplID = "elsewhere"
			unsafeAllowed(s)
		}, promote, []string{"a-2"}},
		{"one that a volume was stamped with after the record's time is not known", 3, func(s *scene) {
			refused(&withVolumes(s).members[0])
			freezeAll(s, 90, 95)
			s.volumes["a-2"] = volume{stamp: stamp{8, "later", synced}}
			s.members[2].ReplID = "later"
		}, block, nil},
		{"a fenced master that went on with another history has not all", 3, func(s *scene) {
			freezeAll(s, 90, 95)
			s.members[0].Master = false
			wentOn(&s.members[0])
			s.volumes = map[string]volume{"a-0": {stamp: stamp{7, nextHistory, leading}}} // no stranger
			makeSilent(&s.members[1])
		}, block, nil},
		{"beside a candidate, the one before the record's is the older", 3, func(s *scene) {
			refused(&s.members[0])
			freezeAll(s, 90, 95)
			s.Status.Replication.FormerReplID, s.Status.Replication.StartOffset = "before", 80
			s.members[2].ReplID = "before"
			s.Status.Replication.SyncSet = s.Status.Replication.SyncSet[:1]
		}, promote, []string{"a-1"}},

		{"a master that so many went on without that they may have elected another", 3, func(s *scene) {
			wentOn(&s.members[1])
			wentOn(&s.members[2])
		}, block, nil},
		{"is fenced where that is allowed", 3, func(s *scene) {
			wentOn(&s.members[1])
			wentOn(&s.members[2])
			unsafeAllowed(s)
		}, fence, []string{"a-0"}},
		{"as many as could not have elected one, and wrote nothing, are attached", 3, func(s *scene) {
			wentOn(&s.members[1])
			s.members[1].FormerOffset = s.members[1].Offset
		}, attachReplicas, []string{"a-1"}},
		{"one that wrote since is not overwritten", 3, func(s *scene) { wentOn(&s.members[1]) }, block, nil},
		{"nor one with a history that no volume knows", 3, func(s *scene) {
			frozen(&withVolumes(s).members[1], 100)
			s.members[1].ReplID = "two histories on"
		}, block, nil},
		{"one with a history that its volume was stamped with before is attached", 3, func(s *scene) {
			withVolumes(s).volumes["a-1"] = volume{stamp: stamp{5, "before", synced}}
			frozen(&s.members[1], 100)
			s.members[1].ReplID = "before"
		}, attachReplicas, []string{"a-1"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := healthy(c.size)
			c.given(s)
			if got := s.situation().plan(); got.do != c.do || !slices.Equal(got.nodes, c.nodes) {
				t.Errorf("got %s (%s), want %s %v", got, got.message, c.do, c.nodes)
			}
		})
	}
}

// Who counts, and how much has to be there, when the master is dead.
func TestCountingAfterTheMaster(t *testing.T) {
	for _, c := range []struct {
		reason string
		given  func(*scene)
		do     verb
		nodes  []string
	}{
		{"below the offset that the history began with is no candidate", func(s *scene) {
			freezeAll(s, 90, 95)
			s.Status.Replication.StartOffset = 99
		}, wait, nil},
		{"nor has it confirmed a write of it", func(s *scene) {
			freezeAll(s, 90, 95)
			s.Status.Replication.StartOffset = 93
		}, promote, []string{"a-2"}},
		{"who had all when it began, and has not come to it yet, is one", func(s *scene) {
			freezeAll(s, 90, 95)
			s.Status.Replication.StartOffset, s.Status.Replication.FormerReplID = 95, "before"
			s.members[1].ReplID, s.members[2].ReplID = "before", "before"
		}, promote, []string{"a-2"}},
		{"not when it had less, or more", func(s *scene) {
			freezeAll(s, 90, 95)
			s.Status.Replication.StartOffset, s.Status.Replication.FormerReplID = 94, "before"
			s.members[1].ReplID, s.members[2].ReplID = "before", "before"
		}, block, nil},
		{"one that was promoted since may have confirmed one", func(s *scene) {
			freezeAll(s, 90, 95)
			wentOn(&s.members[2])
			s.volumes = map[string]volume{"a-2": {stamp: stamp{7, nextHistory, leading}}} // no stranger
		}, block, nil},
		{"a spec that asks for fewer than the record has may be gone by", func(s *scene) {
			freezeAll(s, 90, 95)
			makeSilent(&s.members[2])
			withMinReplicas(s, 2, 1)
		}, block, nil},
		{"one that asks for more is not in force yet", func(s *scene) {
			freezeAll(s, 90, 95)
			makeSilent(&s.members[2])
			withMinReplicas(s, 1, 2)
		}, block, nil},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := healthy(3)
			c.given(s)
			refused(&s.members[0])
			if got := s.situation().plan(); got.do != c.do || !slices.Equal(got.nodes, c.nodes) {
				t.Errorf("got %s (%s), want %s %v", got, got.message, c.do, c.nodes)
			}
		})
	}
}

func TestServingMaster(t *testing.T) {
	for _, c := range []struct {
		reason string
		given  func(*scene)
		do     verb
		nodes  []string
	}{
		{"a history that may yet change is made final and recorded", func(s *scene) { s.members[0].Pinned = false }, recordMaster, []string{"a-0"}},
		{"who has come to be in sync answers reads", func(s *scene) { s.members[1].ServesStale = false }, serveStaleReads, []string{"a-1"}},
		{"not before", func(s *scene) { s.members[1].ServesStale, s.members[1].LinkUp = false, false }, wait, nil},
		{"who is not on record is attached before anything is handed over to him", func(s *scene) {
			s.members[0].deleting, s.members[0].deletingFor = true, time.Hour
			forgetMember(s, "a-1")
			s.members[2].LinkUp = false
		}, attachReplicas, []string{"a-1"}},
		{"volumes are stamped before anybody follows", func(s *scene) {
			setStamp(withVolumes(s), "a-0", 6, synced)
			freezeAll(s, 90, 90)
		}, stampVolumes, []string{"a-0"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := healthy(3)
			c.given(s)
			if got := s.situation().plan(); got.do != c.do || !slices.Equal(got.nodes, c.nodes) {
				t.Errorf("got %s (%s), want %s %v", got, got.message, c.do, c.nodes)
			}
		})
	}
}
