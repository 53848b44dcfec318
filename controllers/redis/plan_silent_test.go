package redis

import (
	"slices"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// hang makes a server one that does not answer, and its replicas hear nothing of it.
func hang(m *member, s *scene, since time.Duration) {
	makeSilent(m)
	m.silentFor = since
	for i := range s.members {
		s.members[i].LastIO = since
	}
}

func TestSilence(t *testing.T) {
	wish := func(pod string) func(*scene) {
		return func(s *scene) { s.Annotations = map[string]string{cachev1alpha1.RedisSwitchover: pod} }
	}
	for _, c := range []struct {
		reason string
		size   int32
		given  func(*scene)
		do     verb
		nodes  []string
	}{
		{"a master that hangs is given its time", 3, func(s *scene) { hang(&s.members[0], s, 2900*time.Millisecond) }, wait, nil},
		{"then the others are frozen", 3, func(s *scene) { hang(&s.members[0], s, 3*time.Second) }, fence, []string{"a-1", "a-2"}},
		{"the time is the user's", 3, func(s *scene) {
			hang(&s.members[0], s, 3*time.Second)
			s.Spec.Failover = &cachev1alpha1.RedisFailureDetection{FailureThreshold: ptr.To[int32](10)}
		}, wait, nil},
		{"not while one of them hears it: only we do not", 3, func(s *scene) {
			hang(&s.members[0], s, time.Hour)
			s.members[2].LastIO = time.Second
		}, wait, nil},
		{"frozen, it is outlasted", 3, func(s *scene) {
			hang(&s.members[0], s, time.Hour)
			freezeAll(s, 90, 95)
			s.frozenFor = 3900 * time.Millisecond
		}, wait, nil},
		{"for the lag that its user allows", 3, func(s *scene) {
			hang(&s.members[0], s, time.Hour)
			freezeAll(s, 90, 95)
			s.frozenFor = 4 * time.Second
			s.Spec.Durability = &cachev1alpha1.RedisDurability{MaxLagSeconds: ptr.To[int32](10)}
		}, wait, nil},
		{"then replaced", 3, func(s *scene) {
			hang(&s.members[0], s, time.Hour)
			freezeAll(s, 90, 95)
			s.frozenFor = 4 * time.Second
		}, promote, []string{"a-2"}},
		{"unless it answers the last question", 3, func(s *scene) { freezeAll(s, 90, 95); s.frozenFor = 4 * time.Second }, attachReplicas, []string{"a-1", "a-2"}},
		{"nor with too few", 3, func(s *scene) {
			hang(&s.members[0], s, time.Hour)
			freezeAll(s, 90, 95)
			makeSilent(&s.members[2])
			s.frozenFor = 4 * time.Second
		}, block, nil},
		{"one whose password is another is never taken for dead", 3, func(s *scene) { hang(&s.members[0], s, time.Hour); s.members[0].Answer = 2 }, wait, nil},

		{"a master that was replaced and hangs is deleted", 3, func(s *scene) {
			hang(&s.members[2], s, 4*time.Second)
			s.Status.Replication.SyncSet = s.Status.Replication.SyncSet[:1]
			s.Status.LastFailover = &cachev1alpha1.RedisFailover{From: "a-2", FromPodUID: s.members[2].podUID, To: "a-0"}
			detach(s, 2)
		}, deleteSilentPod, []string{"a-2"}},
		{"one that follows since is a replica like any other", 3, func(s *scene) {
			hang(&s.members[2], s, 4*time.Second)
			s.Status.LastFailover = &cachev1alpha1.RedisFailover{From: "a-2", FromPodUID: s.members[2].podUID, To: "a-0"}
			detach(s, 2)
		}, wait, nil},
		{"and so is the pod that came after it", 3, func(s *scene) {
			hang(&s.members[2], s, 4*time.Second)
			s.Status.Replication.SyncSet = s.Status.Replication.SyncSet[:1]
			s.Status.LastFailover = &cachev1alpha1.RedisFailover{From: "a-2", FromPodUID: "of-before", To: "a-0"}
			detach(s, 2)
		}, wait, nil},
		{"a replica that hangs is waited for", 3, func(s *scene) { hang(&s.members[2], s, 50*time.Second); detach(s, 2) }, wait, nil},
		{"a minute", 3, func(s *scene) { makeSilent(&s.members[2]); s.members[2].silentFor = time.Minute; detach(s, 2) }, deleteSilentPod, []string{"a-2"}},
		{"not while its master hears it", 3, func(s *scene) { makeSilent(&s.members[2]); s.members[2].silentFor = time.Minute }, wait, nil},
		{"nor while another is not well", 3, func(s *scene) {
			makeSilent(&s.members[2])
			s.members[2].silentFor = time.Minute
			detach(s, 2)
			s.members[1].LinkUp = false
		}, wait, nil},

		{"a process that nobody knows is refused", 3, func(s *scene) { s.members[0].Attached = append(s.members[0].Attached, "10.9.9.9") }, expelUnrecorded, []string{"10.9.9.9"}},

		{"a human's wish", 3, wish("a-2"), switchOver, []string{"a-2"}},
		{"that is fulfilled", 3, wish("a-0"), dismissRequest, []string{"a-0"}},
		{"that cannot be", 3, wish("b-7"), dismissRequest, []string{"b-7"}},
		{"that can be a moment later", 3, func(s *scene) { wish("a-2")(s); s.members[1].endpointChanging = true }, wait, nil},
		{"that can soon be", 3, func(s *scene) { wish("a-2")(s); s.members[2].LinkUp = false }, wait, nil},
		{"nor does it touch the only node", 1, func(s *scene) {
			outdated(0)(s)
			s.Spec.Update = &cachev1alpha1.RedisUpdate{Strategy: cachev1alpha1.RedisSupervised}
		}, idle, nil},
		{"a supervised update stops before the master", 3, func(s *scene) {
			outdated(0)(s)
			s.Spec.Update = &cachev1alpha1.RedisUpdate{Strategy: cachev1alpha1.RedisSupervised}
		}, idle, nil},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := healthy(c.size)
			c.given(s)
			got := s.situation().plan()
			if got.do != c.do || !slices.Equal(got.nodes, c.nodes) {
				t.Errorf("got %s (%s), want %s %v", got, got.message, c.do, c.nodes)
			}
			if got.do == wait && got.requeueAfter == 0 {
				t.Errorf("%s: nothing ends this wait", got.message)
			}
		})
	}
}

// A master that falls silent is not looked at later than it counts as lost.
func TestSilenceIsTimed(t *testing.T) {
	s := healthy(3)
	hang(&s.members[0], s, 2900*time.Millisecond)
	if got := s.situation().plan(); got.do != wait || got.requeueAfter != 100*time.Millisecond {
		t.Errorf("got %s, to look again after %s", got, got.requeueAfter)
	}
}

func TestBlind(t *testing.T) {
	s := healthy(3)
	for i := range s.members {
		hang(&s.members[i], s, time.Hour)
	}
	if got := s.situation().plan(); got.do != block || got.reason != commonv1.ReasonOperatorCannotReachPods {
		t.Errorf("got %s %s", got, got.reason)
	}
}
