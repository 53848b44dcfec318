package topology_test

import (
	"testing"
	"time"

	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// makeLaterMaster makes a member a master of a later history, with these replicas, that the record does not know.
func makeLaterMaster(s *Scene, n int, followers ...int) {
	m := &s.Nodes[n]
	m.Master, m.MasterHost, m.ReplID, m.FormerReplID, m.FormerOffset, m.MinReplicas = true, "", NextHistory, History, 100, 1
	for _, f := range followers {
		s.Nodes[f].MasterHost, s.Nodes[f].ReplID = m.Address, NextHistory
	}
}

// continued is fenced with a history after the record's.
func continued(m *Node) {
	FencedAt(m, 100)
	m.ReplID, m.FormerReplID, m.FormerOffset = NextHistory, History, 90
}

func unsafeAllowed(s *Scene) {
	s.Annotations = map[string]string{cachev1alpha1.RedisAllowUnsafePromotion: "7"}
}

// withMinReplicas sets W, of the record and of the spec.
func withMinReplicas(s *Scene, record, spec int32) {
	s.Status.Replication.EffectiveMinReplicas, s.Nodes[0].MinReplicas = record, record
	s.Spec.Durability = &cachev1alpha1.RedisDurability{MinReplicasToWrite: ptr.To(spec)}
}

// The record may be older than the servers, as after a restore of the API server.
func TestRecordThatMayBeOutdated(t *testing.T) {
	testPlan(t, healthy, []planRow{
		{"a master that can confirm writes is the right one", 3, func(s *Scene) { Refused(&s.Nodes[0]); makeLaterMaster(s, 1, 2) }, RecordMaster,
			[]string{"a-1"}},
		{"not one that is followed by too few", 3, func(s *Scene) {
			Refused(&s.Nodes[0])
			makeLaterMaster(s, 1, 2)
			s.Nodes[1].MinReplicas = 2
		}, Fence, []string{"a-1"}},
		{"a master that no one follows is not the right one, though it asks for no replica", 3, func(s *Scene) {
			Refused(&s.Nodes[0])
			makeLaterMaster(s, 1)
			s.Nodes[1].MinReplicas, s.Nodes[2].LinkUp = 0, false
		}, Fence, []string{"a-1"}},
		{"a second master is not the right one while the recorded one confirms writes", 5, func(s *Scene) { makeLaterMaster(s, 3, 4) }, Block,
			nil},
		{"a second master is not the right one while the recorded one needs no replica to confirm", 3,
			func(s *Scene) { withMinReplicas(s, 0, 0); makeLaterMaster(s, 1, 2) }, Block, nil},
		{"a second master is the right one when the recorded one can confirm none", 3, func(s *Scene) { makeLaterMaster(s, 1, 2) }, RecordMaster,
			[]string{"a-1"}},
		{"not one that the recorded master continued from, however many follow it", 5, func(s *Scene) {
			makeLaterMaster(s, 1, 2)
			s.Nodes[0].FormerReplID = NextHistory
		}, Fence, []string{"a-1"}},
		{"also while that one can confirm none", 3, func(s *Scene) {
			makeLaterMaster(s, 1, 2)
			s.Nodes[0].FormerReplID = NextHistory
		}, Fence, []string{"a-1"}},
		{"the master before the recorded one is not the right one, though the recorded one is silent", 3, func(s *Scene) {
			MakeSilent(&s.Nodes[0])
			makeLaterMaster(s, 1, 2)
			s.Status.Replication.FormerReplID = NextHistory
		}, Fence, []string{"a-1"}},
		{"a master of an earlier epoch is not the right one", 5, func(s *Scene) {
			makeLaterMaster(WithVolumes(s), 1, 2)
			s.Volumes["a-1"] = Volume{Stamp: Stamp{6, NextHistory, Leading}}
		}, Fence, []string{"a-1"}},
		{"of two a human chooses", 5, func(s *Scene) { Refused(&s.Nodes[0]); makeLaterMaster(s, 1, 2); makeLaterMaster(s, 3, 4) }, Block, nil},

		{"a dead master: of two histories a human chooses", 3, func(s *Scene) {
			Refused(&s.Nodes[0])
			FenceReplicas(s, 90, 95)
			s.Nodes[2].ReplID = "elsewhere"
		}, Block, nil},
		{"as reported", 3, func(s *Scene) {
			Refused(&s.Nodes[0])
			FenceReplicas(s, 90, 95)
			s.Nodes[2].ReplID = "elsewhere"
			unsafeAllowed(s)
		}, Promote, []string{"a-2"}},
		{"one that a volume was stamped with after the record's time is not known", 3, func(s *Scene) {
			Refused(&WithVolumes(s).Nodes[0])
			FenceReplicas(s, 90, 95)
			s.Volumes["a-2"] = Volume{Stamp: Stamp{8, "later", Synced}}
			s.Nodes[2].ReplID = "later"
		}, Block, nil},
		{"a fenced master that continued with another history has not all", 3, func(s *Scene) {
			FenceReplicas(s, 90, 95)
			s.Nodes[0].Master = false
			continued(&s.Nodes[0])
			s.Volumes = map[string]Volume{"a-0": {Stamp: Stamp{7, NextHistory, Leading}}} // so the history is known
			MakeSilent(&s.Nodes[1])
		}, Block, nil},
		{"next to a candidate, the one before the record's is the older", 3, func(s *Scene) {
			Refused(&s.Nodes[0])
			FenceReplicas(s, 90, 95)
			s.Status.Replication.FormerReplID, s.Status.Replication.StartOffset = "before", 80
			s.Nodes[2].ReplID = "before"
			s.Status.Replication.SyncSet = s.Status.Replication.SyncSet[:1]
		}, Promote, []string{"a-1"}},

		{"a master that so many continued without that they may have elected another", 3, func(s *Scene) {
			continued(&s.Nodes[1])
			continued(&s.Nodes[2])
		}, Block, nil},
		{"is fenced where that is allowed", 3, func(s *Scene) {
			continued(&s.Nodes[1])
			continued(&s.Nodes[2])
			unsafeAllowed(s)
		}, Fence, []string{"a-0"}},
		{"as many as could not have elected one, and wrote nothing, are attached", 3, func(s *Scene) {
			continued(&s.Nodes[1])
			s.Nodes[1].FormerOffset = s.Nodes[1].Offset
		}, AttachReplicas, []string{"a-1"}},
		{"one that wrote since is not overwritten", 3, func(s *Scene) { continued(&s.Nodes[1]) }, Block, nil},
		{"a node with a history that no volume knows is not overwritten", 3, func(s *Scene) {
			FencedAt(&WithVolumes(s).Nodes[1], 100)
			s.Nodes[1].ReplID = "two histories on"
		}, Block, nil},
		{"one with a history that its volume was stamped with before is attached", 3, func(s *Scene) {
			WithVolumes(s).Volumes["a-1"] = Volume{Stamp: Stamp{5, "before", Synced}}
			FencedAt(&s.Nodes[1], 100)
			s.Nodes[1].ReplID = "before"
		}, AttachReplicas, []string{"a-1"}},
	})
}

// Who counts, and how much has to be there, when the master is dead.
func TestCountingAfterTheMaster(t *testing.T) {
	masterRefuses := func(c planRow) *Scene {
		s := healthy(c)
		Refused(&s.Nodes[0])
		return s
	}
	testPlan(t, masterRefuses, []planRow{
		{"below the offset that the history started with is no candidate", 3, func(s *Scene) {
			FenceReplicas(s, 90, 95)
			s.Status.Replication.StartOffset = 99
		}, Wait, nil},
		{"a replica below the offset that the history started with has confirmed no write of it", 3, func(s *Scene) {
			FenceReplicas(s, 90, 95)
			s.Status.Replication.StartOffset = 93
		}, Promote, []string{"a-2"}},
		{"who had all when it started, and has not come to it yet, is one", 3, func(s *Scene) {
			FenceReplicas(s, 90, 95)
			s.Status.Replication.StartOffset, s.Status.Replication.FormerReplID = 95, "before"
			s.Nodes[1].ReplID, s.Nodes[2].ReplID = "before", "before"
		}, Promote, []string{"a-2"}},
		{"not when it had less, or more", 3, func(s *Scene) {
			FenceReplicas(s, 90, 95)
			s.Status.Replication.StartOffset, s.Status.Replication.FormerReplID = 94, "before"
			s.Nodes[1].ReplID, s.Nodes[2].ReplID = "before", "before"
		}, Block, nil},
		{"one that was promoted since may have confirmed one", 3, func(s *Scene) {
			FenceReplicas(s, 90, 95)
			continued(&s.Nodes[2])
			s.Volumes = map[string]Volume{"a-2": {Stamp: Stamp{7, NextHistory, Leading}}} // so the history is known
		}, Block, nil},
		{"a spec that asks for fewer than the record has may be gone by", 3, func(s *Scene) {
			FenceReplicas(s, 90, 95)
			MakeSilent(&s.Nodes[2])
			withMinReplicas(s, 2, 1)
		}, Block, nil},
		{"one that asks for more is not in force yet", 3, func(s *Scene) {
			FenceReplicas(s, 90, 95)
			MakeSilent(&s.Nodes[2])
			withMinReplicas(s, 1, 2)
		}, Block, nil},
	})
}

func TestServingMaster(t *testing.T) {
	testPlan(t, healthy, []planRow{
		{"a history that may yet change is made final and recorded", 3, func(s *Scene) { s.Nodes[0].Pinned = false }, RecordMaster,
			[]string{"a-0"}},
		{"who has come to be in sync answers reads", 3, func(s *Scene) { s.Nodes[1].ServesStale = false }, ServeStaleReads, []string{"a-1"}},
		{"not before", 3, func(s *Scene) { s.Nodes[1].ServesStale, s.Nodes[1].LinkUp = false, false }, Wait, nil},
		{"who is not recorded is attached before anything is handed over to him", 3, func(s *Scene) {
			s.Nodes[0].Deleting, s.Nodes[0].DeletingFor = true, time.Hour
			ForgetMember(s, "a-1")
			s.Nodes[2].LinkUp = false
		}, AttachReplicas, []string{"a-1"}},
		{"volumes are stamped before anybody follows", 3, func(s *Scene) {
			SetStamp(WithVolumes(s), "a-0", 6, Synced)
			FenceReplicas(s, 90, 90)
		}, StampVolumes, []string{"a-0"}},
	})
}
