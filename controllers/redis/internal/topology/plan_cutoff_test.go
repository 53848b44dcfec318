package topology_test

import (
	"testing"
	"time"

	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// cutOffFromMaster cuts replicas off for so long: the operator reaches them and their master, which they do not hear.
func cutOffFromMaster(s *Scene, since time.Duration, replicas ...int) {
	s.CutOffFor = ReconnectTime
	for _, i := range replicas {
		s.Nodes[i].LastIO = since
	}
}

// steppedDown is a set whose master was fenced for that, and the others after it.
func steppedDown(s *Scene, offsets ...int64) {
	FencedAt(&s.Nodes[0], 100)
	s.Nodes[0].Master = false
	FenceReplicas(s, offsets...)
	s.Status.Epoch, s.Status.TargetMaster = 8, "a-1"
	s.Status.LastFailover = &cachev1alpha1.RedisFailover{Epoch: 8, From: "a-0", To: "a-1", Reason: commonv1.ReasonMasterCutOff}
}

func TestCutOffMaster(t *testing.T) {
	testPlan(t, healthy, []planRow{
		{"it steps down for the replica that has most", 3, func(s *Scene) { cutOffFromMaster(s, 3*time.Second, 1, 2); s.Nodes[2].Offset = 101 },
			StepDown, []string{"a-2"}},
		{"also when the connections have ended", 3, func(s *Scene) { cutOffFromMaster(s, 3*time.Second, 1, 2); LinksDown(s) }, StepDown,
			[]string{"a-1"}},
		{"it is given its time", 3, func(s *Scene) { cutOffFromMaster(s, 3*time.Second, 1); cutOffFromMaster(s, 2500*time.Millisecond, 2) }, Wait,
			nil},
		{"the time is the user's", 3, func(s *Scene) {
			cutOffFromMaster(s, 9*time.Second, 1, 2)
			s.Spec.Failover = &cachev1alpha1.RedisFailureDetection{FailureThreshold: ptr.To[int32](10)}
		}, Wait, nil},
		{"little more than a second is none", 3, func(s *Scene) { cutOffFromMaster(s, time.Second, 1, 2) }, Idle, nil},
		{"two seconds are not enough to step down, though the user asks for one", 3, func(s *Scene) {
			cutOffFromMaster(s, 2*time.Second, 1, 2)
			s.Spec.Failover = &cachev1alpha1.RedisFailureDetection{FailureThreshold: ptr.To[int32](1)}
		}, Wait, nil},
		{"one that hears it is enough to confirm", 3, func(s *Scene) { cutOffFromMaster(s, time.Hour, 1) }, Idle, nil},
		{"unless more are needed", 5, func(s *Scene) {
			cutOffFromMaster(s, time.Hour, 1, 2, 3)
			s.Status.Replication.EffectiveMinReplicas, s.Nodes[0].MinReplicas = 2, 2
			s.Spec.Durability = &cachev1alpha1.RedisDurability{MinReplicasToWrite: ptr.To[int32](2)}
		}, StepDown, []string{"a-1"}},
		{"where none is needed, it serves", 3, func(s *Scene) {
			cutOffFromMaster(s, time.Hour, 1, 2)
			s.Status.Replication.EffectiveMinReplicas, s.Nodes[0].MinReplicas = 0, 0
			s.Spec.Durability = &cachev1alpha1.RedisDurability{MinReplicasToWrite: ptr.To[int32](0)}
		}, Idle, nil},
		{"no one would follow the only other", 2, func(s *Scene) { cutOffFromMaster(s, time.Hour, 1) }, Idle, nil},
		{"a confirmed write may be with the one that cannot be asked", 5, func(s *Scene) {
			cutOffFromMaster(s, time.Hour, 1, 2)
			MakeSilent(&s.Nodes[3])
			MakeSilent(&s.Nodes[4])
		}, Wait, nil},
		{"one that is sent its data has a way to it", 3,
			func(s *Scene) { cutOffFromMaster(s, time.Hour, 1, 2); LinksDown(s); s.Nodes[1].Syncing = true }, Wait, nil},
		{"a replica that waits for a full copy has a way to the master", 3, func(s *Scene) {
			cutOffFromMaster(s, time.Hour, 1, 2)
			LinksDown(s)
			s.Nodes[0].Copying = []string{s.Nodes[1].Address, s.Nodes[2].Address}
		}, Wait, nil},
		{"asked to follow a moment ago, they are yet to come", 3, func(s *Scene) {
			cutOffFromMaster(s, time.Hour, 1, 2)
			s.CutOffFor = 900 * time.Millisecond
		}, Wait, nil},
		{"also one whose pod is gone", 3, func(s *Scene) {
			cutOffFromMaster(s, time.Hour, 1, 2)
			Orphan(s)
		}, StepDown, []string{"a-1"}},
		{"not back to one that never had its stream", 3, func(s *Scene) {
			cutOffFromMaster(s, time.Hour, 1, 2)
			LinksDown(s)
			s.Nodes[1].ReplID = "history-0"
		}, Wait, nil},

		{"fenced, it is not promoted back, though it has more", 3, func(s *Scene) { steppedDown(s, 90, 95) }, Promote, []string{"a-2"}},
		{"unless only it has all", 5, func(s *Scene) {
			steppedDown(s, 90, 95)
			MakeSilent(&s.Nodes[3])
			MakeSilent(&s.Nodes[4])
		}, Promote, []string{"a-0"}},
		{"a master that was fenced for another reason is promoted back", 3,
			func(s *Scene) { steppedDown(s, 90, 95); s.Status.LastFailover.Reason = commonv1.ReasonMasterLost }, Promote, []string{"a-0"}},
		{"a master that was cut off in an earlier epoch is promoted back", 3,
			func(s *Scene) { steppedDown(s, 90, 95); s.Status.LastFailover.Epoch = 7 }, Promote,
			[]string{"a-0"}},
		{"one that was not fenced after all serves", 3, func(s *Scene) {
			s.Status.Epoch, s.Status.TargetMaster = 8, "a-1"
			s.Status.LastFailover = &cachev1alpha1.RedisFailover{Epoch: 8, From: "a-0", To: "a-1", Reason: commonv1.ReasonMasterCutOff}
		}, RecordMaster, []string{"a-0"}},
	})
}
