package topology_test

import (
	"testing"
	"time"

	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// hang makes a server one that does not answer, and its replicas hear nothing of it.
func hang(m *Node, s *Scene, since time.Duration) {
	MakeSilent(m)
	m.SilentFor = since
	for i := range s.Nodes {
		s.Nodes[i].LastIO = since
	}
}

func TestSilence(t *testing.T) {
	wish := func(pod string) func(*Scene) {
		return func(s *Scene) { s.Annotations = map[string]string{cachev1alpha1.RedisSwitchover: pod} }
	}
	testPlan(t, healthy, []planRow{
		{"a master that hangs is given its time", 3, func(s *Scene) { hang(&s.Nodes[0], s, 6900*time.Millisecond) }, Wait, nil},
		{"the others are fenced once the time of a master that hangs is over", 3, func(s *Scene) { hang(&s.Nodes[0], s, 7*time.Second) }, Fence,
			[]string{"a-1", "a-2"}},
		{"the time is the user's", 3, func(s *Scene) {
			hang(&s.Nodes[0], s, 7*time.Second)
			s.Spec.Failover = &cachev1alpha1.RedisFailureDetection{FailureThreshold: ptr.To[int32](10)}
		}, Wait, nil},
		{"where a script is answered for sooner, the others are fenced sooner", 3, func(s *Scene) {
			hang(&s.Nodes[0], s, 3*time.Second)
			s.Spec.Config = OneDirective(config.BusyReplyThreshold, "1000")
		}, Fence, []string{"a-1", "a-2"}},
		{"a master is given as long as a script may keep it silent", 3, func(s *Scene) {
			hang(&s.Nodes[0], s, 20*time.Second)
			s.Spec.Config = OneDirective(config.BusyReplyThreshold, "20000")
		}, Wait, nil},
		{"a master is given a minute where no script is answered for", 3, func(s *Scene) {
			hang(&s.Nodes[0], s, time.Minute)
			s.Spec.Config = OneDirective(config.BusyReplyThreshold, "0")
		}, Wait, nil},
		{"a master is not given more than a minute, however long a script may keep it silent", 3, func(s *Scene) {
			hang(&s.Nodes[0], s, 62*time.Second)
			s.Spec.Config = OneDirective(config.BusyReplyThreshold, "3600000")
		}, Fence, []string{"a-1", "a-2"}},
		{"not while one of them hears it: only we do not", 3, func(s *Scene) {
			hang(&s.Nodes[0], s, time.Hour)
			s.Nodes[2].LastIO = time.Second
		}, Wait, nil},
		{"once all are fenced, it is waited for", 3, func(s *Scene) {
			hang(&s.Nodes[0], s, time.Hour)
			FenceReplicas(s, 90, 95)
			s.FencedFor = 3900 * time.Millisecond
		}, Wait, nil},
		{"for the lag that its user allows", 3, func(s *Scene) {
			hang(&s.Nodes[0], s, time.Hour)
			FenceReplicas(s, 90, 95)
			s.FencedFor = 4 * time.Second
			s.Spec.Durability = &cachev1alpha1.RedisDurability{MaxLagSeconds: ptr.To[int32](10)}
		}, Wait, nil},
		{"a master that hangs is replaced once the others were fenced for the lag", 3, func(s *Scene) {
			hang(&s.Nodes[0], s, time.Hour)
			FenceReplicas(s, 90, 95)
			s.FencedFor = 4 * time.Second
		}, Promote, []string{"a-2"}},
		{"unless it answers the last question", 3, func(s *Scene) { FenceReplicas(s, 90, 95); s.FencedFor = 4 * time.Second }, AttachReplicas,
			[]string{"a-1", "a-2"}},
		{"a master that hangs is not replaced with too few", 3, func(s *Scene) {
			hang(&s.Nodes[0], s, time.Hour)
			FenceReplicas(s, 90, 95)
			MakeSilent(&s.Nodes[2])
			s.FencedFor = 4 * time.Second
		}, Block, nil},
		{"one whose password is another is never taken for dead", 3, func(s *Scene) { hang(&s.Nodes[0], s, time.Hour); s.Nodes[0].Answer = 2 },
			Wait, nil},

		{"a master that was replaced and hangs is deleted", 3, func(s *Scene) {
			hang(&s.Nodes[2], s, 7*time.Second)
			s.Status.Replication.SyncSet = s.Status.Replication.SyncSet[:1]
			s.Status.LastFailover = &cachev1alpha1.RedisFailover{From: "a-2", FromPodUID: s.Nodes[2].PodUID, To: "a-0"}
			Detach(s, 2)
		}, DeleteSilentPod, []string{"a-2"}},
		{"one that follows since is a replica like any other", 3, func(s *Scene) {
			hang(&s.Nodes[2], s, 7*time.Second)
			s.Status.LastFailover = &cachev1alpha1.RedisFailover{From: "a-2", FromPodUID: s.Nodes[2].PodUID, To: "a-0"}
			Detach(s, 2)
		}, Wait, nil},
		{"the pod that came after a replaced master is a replica like any other", 3, func(s *Scene) {
			hang(&s.Nodes[2], s, 7*time.Second)
			s.Status.Replication.SyncSet = s.Status.Replication.SyncSet[:1]
			s.Status.LastFailover = &cachev1alpha1.RedisFailover{From: "a-2", FromPodUID: "of-before", To: "a-0"}
			Detach(s, 2)
		}, Wait, nil},
		{"a replica that hangs is waited for", 3, func(s *Scene) { hang(&s.Nodes[2], s, 50*time.Second); Detach(s, 2) }, Wait, nil},
		{"a minute", 3, func(s *Scene) { MakeSilent(&s.Nodes[2]); s.Nodes[2].SilentFor = time.Minute; Detach(s, 2) }, DeleteSilentPod,
			[]string{"a-2"}},
		{"not while its master hears it", 3, func(s *Scene) { MakeSilent(&s.Nodes[2]); s.Nodes[2].SilentFor = time.Minute }, Wait, nil},
		{"a silent replica is not deleted while another is not well", 3, func(s *Scene) {
			MakeSilent(&s.Nodes[2])
			s.Nodes[2].SilentFor = time.Minute
			Detach(s, 2)
			s.Nodes[1].LinkUp = false
		}, Wait, nil},

		{"a process that no one knows is refused", 3, func(s *Scene) { s.Nodes[0].Attached = append(s.Nodes[0].Attached, "10.9.9.9") },
			ExpelUnrecorded, []string{"10.9.9.9"}},

		{"one that is being sent all data, as a backup is, is not", 3, func(s *Scene) {
			s.Nodes[0].Attached, s.Nodes[0].Copying = append(s.Nodes[0].Attached, "10.9.9.9"), []string{"10.9.9.9"}
		}, Idle, nil},

		{"a human's wish", 3, wish("a-2"), SwitchOver, []string{"a-2"}},
		{"that is fulfilled", 3, wish("a-0"), DismissRequest, []string{"a-0"}},
		{"that cannot be", 3, wish("b-7"), DismissRequest, []string{"b-7"}},
		{"that can be a moment later", 3, func(s *Scene) { wish("a-2")(s); s.Nodes[1].EndpointChanging = true }, Wait, nil},
		{"that can soon be", 3, func(s *Scene) { wish("a-2")(s); s.Nodes[2].LinkUp = false }, Wait, nil},
		{"a supervised update does not touch the only node", 1, func(s *Scene) {
			Outdated(0)(s)
			s.Spec.Update = &cachev1alpha1.RedisUpdate{Strategy: cachev1alpha1.RedisSupervised}
		}, Idle, nil},
		{"a supervised update stops before the master", 3, func(s *Scene) {
			Outdated(0)(s)
			s.Spec.Update = &cachev1alpha1.RedisUpdate{Strategy: cachev1alpha1.RedisSupervised}
		}, Idle, nil},
	})
}

// A master that falls silent is not looked at later than it counts as lost.
func TestSilenceIsTimed(t *testing.T) {
	s := Healthy(3)
	hang(&s.Nodes[0], s, 6900*time.Millisecond)
	if got := s.Situation().Plan(); got.Do != Wait || got.RequeueAfter != 100*time.Millisecond {
		t.Errorf("got %s, to look again after %s", got, got.RequeueAfter)
	}
}

func TestBlind(t *testing.T) {
	s := Healthy(3)
	for i := range s.Nodes {
		hang(&s.Nodes[i], s, time.Hour)
	}
	if got := s.Situation().Plan(); got.Do != Block || got.Reason != commonv1.ReasonOperatorCannotReachPods {
		t.Errorf("got %s %s", got, got.Reason)
	}
}
