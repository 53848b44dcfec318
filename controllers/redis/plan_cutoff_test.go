package redis

import (
	"slices"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// cutOffFromMaster cuts replicas off for so long: the operator reaches them and their master, which they do not hear.
func cutOffFromMaster(s *scene, since time.Duration, replicas ...int) {
	s.cutOffFor = reconnectTime
	for _, i := range replicas {
		s.members[i].LastIO = since
	}
}

// steppedDown is a set whose master was fenced for that, and the others after it.
func steppedDown(s *scene, offsets ...int64) {
	frozen(&s.members[0], 100)
	s.members[0].Master = false
	freezeAll(s, offsets...)
	s.Status.Epoch, s.Status.TargetMaster = 8, "a-1"
	s.Status.LastFailover = &cachev1alpha1.RedisFailover{Epoch: 8, From: "a-0", To: "a-1", Reason: commonv1.ReasonMasterCutOff}
}

func TestCutOffMaster(t *testing.T) {
	for _, c := range []struct {
		reason string
		size   int32
		given  func(*scene)
		do     verb
		nodes  []string
	}{
		{"it steps down for the replica that has most", 3, func(s *scene) { cutOffFromMaster(s, 3*time.Second, 1, 2); s.members[2].Offset = 101 }, stepDown, []string{"a-2"}},
		{"also when the connections have ended", 3, func(s *scene) { cutOffFromMaster(s, 3*time.Second, 1, 2); linksDown(s) }, stepDown, []string{"a-1"}},
		{"it is given its time", 3, func(s *scene) { cutOffFromMaster(s, 3*time.Second, 1); cutOffFromMaster(s, 2500*time.Millisecond, 2) }, wait, nil},
		{"the time is the user's", 3, func(s *scene) {
			cutOffFromMaster(s, 9*time.Second, 1, 2)
			s.Spec.Failover = &cachev1alpha1.RedisFailureDetection{FailureThreshold: ptr.To[int32](10)}
		}, wait, nil},
		{"little more than a second is none", 3, func(s *scene) { cutOffFromMaster(s, time.Second, 1, 2) }, idle, nil},
		{"nor may the user have it so", 3, func(s *scene) {
			cutOffFromMaster(s, 2*time.Second, 1, 2)
			s.Spec.Failover = &cachev1alpha1.RedisFailureDetection{FailureThreshold: ptr.To[int32](1)}
		}, wait, nil},
		{"one that hears it is enough to confirm", 3, func(s *scene) { cutOffFromMaster(s, time.Hour, 1) }, idle, nil},
		{"unless more are needed", 5, func(s *scene) {
			cutOffFromMaster(s, time.Hour, 1, 2, 3)
			s.Status.Replication.EffectiveMinReplicas, s.members[0].MinReplicas = 2, 2
			s.Spec.Durability = &cachev1alpha1.RedisDurability{MinReplicasToWrite: ptr.To[int32](2)}
		}, stepDown, []string{"a-1"}},
		{"where none is needed, it serves", 3, func(s *scene) {
			cutOffFromMaster(s, time.Hour, 1, 2)
			s.Status.Replication.EffectiveMinReplicas, s.members[0].MinReplicas = 0, 0
			s.Spec.Durability = &cachev1alpha1.RedisDurability{MinReplicasToWrite: ptr.To[int32](0)}
		}, idle, nil},
		{"nobody would follow the only other", 2, func(s *scene) { cutOffFromMaster(s, time.Hour, 1) }, idle, nil},
		{"a confirmed write may be with the one that cannot be asked", 5, func(s *scene) {
			cutOffFromMaster(s, time.Hour, 1, 2)
			makeSilent(&s.members[3])
			makeSilent(&s.members[4])
		}, wait, nil},
		{"one that is sent its data has a way to it", 3, func(s *scene) { cutOffFromMaster(s, time.Hour, 1, 2); linksDown(s); s.members[1].Syncing = true }, wait, nil},
		{"or waits for them to be written", 3, func(s *scene) {
			cutOffFromMaster(s, time.Hour, 1, 2)
			linksDown(s)
			s.members[0].Copying = []string{s.members[1].address, s.members[2].address}
		}, wait, nil},
		{"told to follow a moment ago, they are yet to come", 3, func(s *scene) {
			cutOffFromMaster(s, time.Hour, 1, 2)
			s.cutOffFor = 900 * time.Millisecond
		}, wait, nil},
		{"also one whose pod is gone", 3, func(s *scene) {
			cutOffFromMaster(s, time.Hour, 1, 2)
			orphan(s)
		}, stepDown, []string{"a-1"}},
		{"not back to one that never had its stream", 3, func(s *scene) {
			cutOffFromMaster(s, time.Hour, 1, 2)
			linksDown(s)
			s.members[1].ReplID = "history-0"
		}, wait, nil},

		{"fenced, it is not promoted back, though it has more", 3, func(s *scene) { steppedDown(s, 90, 95) }, promote, []string{"a-2"}},
		{"unless only it has all", 5, func(s *scene) {
			steppedDown(s, 90, 95)
			makeSilent(&s.members[3])
			makeSilent(&s.members[4])
		}, promote, []string{"a-0"}},
		{"nor when it was fenced for something else", 3, func(s *scene) { steppedDown(s, 90, 95); s.Status.LastFailover.Reason = commonv1.ReasonMasterLost }, promote, []string{"a-0"}},
		{"nor for that before it became master", 3, func(s *scene) { steppedDown(s, 90, 95); s.Status.LastFailover.Epoch = 7 }, promote, []string{"a-0"}},
		{"one that was not fenced after all serves", 3, func(s *scene) {
			s.Status.Epoch, s.Status.TargetMaster = 8, "a-1"
			s.Status.LastFailover = &cachev1alpha1.RedisFailover{Epoch: 8, From: "a-0", To: "a-1", Reason: commonv1.ReasonMasterCutOff}
		}, recordMaster, []string{"a-0"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := healthy(c.size)
			c.given(s)
			if next := s.situation().plan(); next.do != c.do || c.nodes != nil && !slices.Equal(next.nodes, c.nodes) {
				t.Errorf("%s (%s), not %s %v", next, next.message, c.do, c.nodes)
			}
		})
	}
}
