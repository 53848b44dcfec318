package topology_test

import (
	"slices"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

func TestPlan(t *testing.T) {
	testPlan(t, healthy, []planRow{
		{"nothing to do", 3, func(*Scene) {}, Idle, nil},

		// The master is dead.
		{"when a master refuses, its replicas are fenced first", 3, func(s *Scene) { Refused(&s.Nodes[0]); LinksDown(s) }, Fence,
			[]string{"a-1", "a-2"}},
		{"when a master restarts, its replicas are fenced first", 3, func(s *Scene) { Fresh(&s.Nodes[0]); LinksDown(s) }, Fence,
			[]string{"a-1", "a-2"}},
		{"when its container ends, its replicas are fenced first", 3,
			func(s *Scene) { MakeSilent(&s.Nodes[0]); s.Nodes[0].Stopped = true; LinksDown(s) }, Fence, []string{"a-1", "a-2"}},
		{"of the fenced, the one with the highest offset is promoted", 3, func(s *Scene) { Refused(&s.Nodes[0]); FenceReplicas(s, 90, 95) },
			Promote, []string{"a-2"}},
		{"of equals the one that was intended continues", 3, func(s *Scene) {
			Refused(&s.Nodes[0])
			FenceReplicas(s, 90, 90)
			s.Status.TargetMaster, s.Status.Epoch = "a-2", 8
		}, Promote, []string{"a-2"}},
		{"a fenced master that has all is promoted back", 3,
			func(s *Scene) { FencedAt(&s.Nodes[0], 100); s.Nodes[0].Master = false; FenceReplicas(s, 90, 95) }, Promote, []string{"a-0"}},
		{"when a master follows a fenced node, the others are fenced first", 3, func(s *Scene) {
			m := &s.Nodes[0]
			m.Master, m.MasterHost, m.LinkUp = false, s.Nodes[1].Address, true
			FencedAt(&s.Nodes[1], 100)
		}, Fence, []string{"a-0", "a-2"}},
		{"a promotion that was started and done is recorded", 3, func(s *Scene) {
			Refused(&s.Nodes[0])
			FenceReplicas(s, 90, 95)
			s.Status.TargetMaster, s.Status.Epoch = "a-2", 8
			s.Nodes[2].Master, s.Nodes[2].ReplID = true, NextHistory
		}, RecordMaster, []string{"a-2"}},

		// What looks dead and is not proven so.
		{"a silent master", 3, func(s *Scene) { MakeSilent(&s.Nodes[0]); LinksDown(s) }, Wait, nil},
		{"a refusal while a replica hears the master", 3, func(s *Scene) { Refused(&s.Nodes[0]); s.Nodes[1].LinkUp = false }, Wait, nil},

		// Who does not know the operator's password is alive.
		{"a master that is locked out serves", 3, func(s *Scene) { AuthFailed(&s.Nodes[0]) }, Wait, nil},
		{"also when no one hears it", 3, func(s *Scene) { AuthFailed(&s.Nodes[0]); LinksDown(s) }, Wait, nil},
		{"a master that is locked out serves when all others are fenced", 3,
			func(s *Scene) { AuthFailed(&s.Nodes[0]); FenceReplicas(s, 90, 95); s.FencedFor = time.Hour }, Wait,
			nil},
		{"a locked out member may hold the latest writes", 3, func(s *Scene) { RestartAll(s); s.Nodes[0].Keys = 1; AuthFailed(&s.Nodes[2]) },
			Block, nil},
		{"unless asked to continue without", 3, func(s *Scene) {
			RestartAll(s)
			s.Nodes[0].Keys = 1
			AuthFailed(&s.Nodes[2])
			s.Annotations = map[string]string{cachev1alpha1.RedisAllowUnsafePromotion: "7"}
		}, Promote, []string{"a-0"}},
		{"also where only a replica's volume is left", 3, func(s *Scene) {
			RestartAll(WithVolumes(s))
			s.Nodes[1].Keys = 1
			MakeSilent(&s.Nodes[0])
			s.Nodes[0].SilentFor, s.FencedFor = time.Hour, time.Hour
			s.Annotations = map[string]string{cachev1alpha1.RedisAllowUnsafePromotion: "7"}
		}, Promote, []string{"a-1"}},
		{"a replica that is locked out is restarted", 3, func(s *Scene) { AuthFailed(&s.Nodes[1]) }, DeletePod, []string{"a-1"}},
		{"of several one at a time", 3, func(s *Scene) { AuthFailed(&s.Nodes[1]); AuthFailed(&s.Nodes[2]) }, DeletePod, []string{"a-2"}},
		{"not while another goes", 3, func(s *Scene) { AuthFailed(&s.Nodes[1]); AuthFailed(&s.Nodes[2]); s.Nodes[2].Deleting = true }, Wait, nil},
		{"a replica that is locked out is not restarted while another is behind", 3,
			func(s *Scene) { AuthFailed(&s.Nodes[1]); s.Nodes[2].LinkUp = false }, Wait, nil},

		// Passwords.
		{"nodes that may use others are sent them", 3, func(s *Scene) { s.Nodes[0].PasswordsUnknown, s.Nodes[2].PasswordsUnknown = true, true },
			SetPasswords, []string{"a-0", "a-2"}},
		{"once, when it refuses", 3, func(s *Scene) { s.Nodes[2].PasswordsUnknown, s.Nodes[2].RefusesPasswords = true, true }, Idle, nil},
		{"not while it loads", 3, func(s *Scene) { s.Nodes[2].PasswordsUnknown, s.Nodes[2].Loading = true, true }, Wait, nil},
		{"never before the master's end is dealt with", 3,
			func(s *Scene) { Refused(&s.Nodes[0]); LinksDown(s); s.Nodes[2].PasswordsUnknown = true }, Fence, []string{"a-1", "a-2"}},
		{"before anything is rolled", 3, func(s *Scene) { Outdated(0, 1, 2)(s); s.Nodes[1].PasswordsUnknown = true }, SetPasswords,
			[]string{"a-1"}},

		// R + W > N.
		{"one of two fenced is too few for W=1", 3, func(s *Scene) { Refused(&s.Nodes[0]); FenceReplicas(s, 90, 95); MakeSilent(&s.Nodes[2]) },
			Block, nil},
		{"one of two fenced is enough for W=2", 3, func(s *Scene) {
			Refused(&s.Nodes[0])
			FenceReplicas(s, 90, 95)
			MakeSilent(&s.Nodes[2])
			s.Spec.Durability = &cachev1alpha1.RedisDurability{MinReplicasToWrite: ptr.To[int32](2)}
			s.Status.Replication.EffectiveMinReplicas = 2
		}, Promote, []string{"a-1"}},
		{"a member back with a new run id does not unblock", 3,
			func(s *Scene) { Refused(&s.Nodes[0]); FenceReplicas(s, 90, 95); Fresh(&s.Nodes[2]) }, Block, nil},
		{"one that never reached the history is not counted", 3, func(s *Scene) {
			Refused(&s.Nodes[0])
			FenceReplicas(s, 90, 0)
			s.Nodes[2].ReplID, s.Nodes[2].Pinned = "random", false
		}, Promote, []string{"a-1"}},
		{"the annotation continues without", 3, func(s *Scene) {
			Refused(&s.Nodes[0])
			FenceReplicas(s, 90, 95)
			MakeSilent(&s.Nodes[2])
			s.Annotations = map[string]string{cachev1alpha1.RedisAllowUnsafePromotion: "7"}
		}, Promote, []string{"a-1"}},
		{"the annotation of an earlier epoch does not", 3, func(s *Scene) {
			Refused(&s.Nodes[0])
			FenceReplicas(s, 90, 95)
			MakeSilent(&s.Nodes[2])
			s.Annotations = map[string]string{cachev1alpha1.RedisAllowUnsafePromotion: "6"}
		}, Block, nil},
		{"a higher offset in another history is no candidate", 3, func(s *Scene) {
			Refused(&s.Nodes[0])
			FenceReplicas(s, 90, 1000)
			s.Nodes[2].ReplID, s.Nodes[2].Pinned = "random", false
		}, Promote, []string{"a-1"}},
		{"one that loads is no candidate", 3, func(s *Scene) {
			Refused(&s.Nodes[0])
			FenceReplicas(s, 90, 1000)
			s.Nodes[2].Loading = true
		}, Block, nil},

		// The master's pod object is gone.
		{"a ghost that serves hands over", 3, func(s *Scene) { Orphan(s) }, SwitchOver, []string{"a-1"}},
		{"when a ghost is silent, the replicas are fenced", 3, func(s *Scene) { MakeSilent(Orphan(s)); LinksDown(s) }, Fence,
			[]string{"a-1", "a-2"}},
		{"a silent ghost is waited for once the replicas are fenced", 3,
			func(s *Scene) { FenceReplicas(s, 90, 95); MakeSilent(Orphan(s)); s.FencedFor = 4*time.Second - 1 }, Wait, nil},
		{"a replica is promoted once a silent ghost was waited for", 3,
			func(s *Scene) { FenceReplicas(s, 90, 95); MakeSilent(Orphan(s)); s.FencedFor = 4 * time.Second }, Promote,
			[]string{"a-2"}},
		{"a ghost that answers again is served out", 3, func(s *Scene) { FenceReplicas(s, 90, 95); Orphan(s); s.FencedFor = 4 * time.Second },
			AttachReplicas, []string{"a-1", "a-2"}},
		{"a silent ghost that is heard is waited for", 3, func(s *Scene) { MakeSilent(Orphan(s)) }, Wait, nil},
		{"a ghost that cannot be asked is not, although it is heard", 3, func(s *Scene) { MakeSilent(Orphan(s)); s.Ghost.Unasked = true }, Fence,
			[]string{"a-1", "a-2"}},
		{"a ghost that cannot be asked may still serve when the others are fenced", 3, func(s *Scene) {
			FenceReplicas(s, 90, 95)
			MakeSilent(Orphan(s))
			s.Ghost.Unasked, s.FencedFor = true, 4*time.Second-1
		}, Wait, nil},
		{"a refusing ghost is not waited for", 3, func(s *Scene) { FenceReplicas(s, 90, 95); Refused(Orphan(s)) }, Promote, []string{"a-2"}},
		{"who refuses our password at the ghost's address may be the master itself, and is waited for", 3, func(s *Scene) {
			FenceReplicas(s, 90, 95)
			AuthFailed(Orphan(s))
			s.FencedFor = s.Situation().LostMasterWait() - 1
		}, Wait, nil},
		{"a replica is promoted once an address that refuses our password was waited for", 3, func(s *Scene) {
			FenceReplicas(s, 90, 95)
			AuthFailed(Orphan(s))
			s.FencedFor = s.Situation().LostMasterWait()
		}, Promote, []string{"a-2"}},
		{"one that replicas hear is the master", 3, func(s *Scene) { AuthFailed(Orphan(s)) }, Wait, nil},
		{"a new pod of the master's name proves nothing", 3, func(s *Scene) {
			MakeSilent(Orphan(s))
			again := Running(0)
			again.PodUID, again.Address = "another", "10.0.0.9"
			Fresh(&again)
			s.Nodes = slices.Insert(s.Nodes, 0, again)
		}, Wait, nil},

		// No process is left that ran with the history.
		{"the last master, with its data", 3, func(s *Scene) { RestartAll(s); s.Nodes[0].Keys = 1 }, Promote, []string{"a-0"}},
		{"empty, it does not wipe those with data", 3, func(s *Scene) { RestartAll(s); s.Nodes[2].Keys = 3 }, Promote, []string{"a-2"}},
		{"no one has data, all are there", 3, func(s *Scene) { RestartAll(s) }, Promote, []string{"a-0"}},
		{"no one has data, one is missing", 3, func(s *Scene) { RestartAll(s); Refused(&s.Nodes[1]) }, Wait, nil},
		{"the last master still loads", 3, func(s *Scene) { RestartAll(s); s.Nodes[0].Loading = true; s.Nodes[1].Keys = 9 }, Wait, nil},
		{"one may still have it and is silent", 3, func(s *Scene) { RestartAll(WithVolumes(s)); s.Nodes[0].Keys = 9; MakeSilent(&s.Nodes[1]) },
			Wait, nil},
		{"for long, and a human is asked", 3, func(s *Scene) {
			RestartAll(s)
			s.Nodes[0].Keys = 9
			MakeSilent(&s.Nodes[1])
			s.Nodes[1].SilentFor = time.Hour
		}, Block, nil},
		{"size 1 restarted", 1, func(s *Scene) { Fresh(&s.Nodes[0]); s.Nodes[0].Keys = 2 }, Promote, []string{"a-0"}},

		// The master serves.
		{"a second master is fenced before anything else", 3, func(s *Scene) { s.Nodes[2].Master = true; Refused(&s.Nodes[1]) }, Fence,
			[]string{"a-2"}},
		{"a restarted replica leaves the sync set first", 3, func(s *Scene) { Fresh(&s.Nodes[1]); Detach(s, 1) }, RemoveMembers, []string{"a-1"}},
		{"also while the master still feeds its process, which it will not let in again", 3, func(s *Scene) { Fresh(&s.Nodes[1]) }, RemoveMembers,
			[]string{"a-1"}},
		{"not while another has not all", 3, func(s *Scene) { Fresh(&s.Nodes[1]); Detach(s, 1); s.Nodes[2].LinkUp = false }, Wait, nil},
		{"also while another is silent", 3, func(s *Scene) { Fresh(&s.Nodes[1]); Detach(s, 1); MakeSilent(&s.Nodes[2]) }, Wait, nil},
		{"a restarted replica leaves the sync set once another is silent for too long", 3, func(s *Scene) {
			Fresh(&s.Nodes[1])
			Detach(s, 1)
			MakeSilent(&s.Nodes[2])
			s.Nodes[2].SilentFor = UnreachableLimit
		}, RemoveMembers, []string{"a-1"}},
		{"one that restarted before it followed is fenced, to be counted as it is", 3, func(s *Scene) { s.Nodes[1].RunID = "another" }, Fence,
			[]string{"a-1"}},
		{"one that restarted before it followed and loads is dropped, as it cannot be fenced yet", 3,
			func(s *Scene) { s.Nodes[1].RunID, s.Nodes[1].Loading = "another", true },
			RemoveMembers, []string{"a-1"}},
		{"a restarted replica that left the sync set is attached again", 3,
			func(s *Scene) { Fresh(&s.Nodes[1]); Detach(s, 1); ForgetMember(s, "a-1") }, AttachReplicas,
			[]string{"a-1"}},
		{"an old master that came back is attached", 3, func(s *Scene) { FencedAt(&s.Nodes[1], 3); ForgetMember(s, "a-1"); Detach(s, 1) },
			AttachReplicas, []string{"a-1"}},
		{"a fenced replica of a serving master is let go", 3, func(s *Scene) { FenceReplicas(s, 90, 90) }, AttachReplicas,
			[]string{"a-1", "a-2"}},
		{"a replica of somebody else", 3, func(s *Scene) { s.Nodes[2].MasterHost = "10.9.9.9" }, AttachReplicas, []string{"a-2"}},
		{"a new history is recorded", 3, func(s *Scene) { s.Nodes[0].ReplID = NextHistory }, RecordMaster, []string{"a-0"}},
		{"syncing is waited for", 3, func(s *Scene) { s.Nodes[2].LinkUp = false }, Wait, nil},
		{"W drifted", 3, func(s *Scene) { s.Nodes[0].MinReplicas = 0 }, SetMinReplicas, []string{"a-0"}},

		// Planned moves.
		{"a pod that goes is given the time that kube-proxy needs", 3, func(s *Scene) { s.Nodes[0].Deleting = true }, Wait, nil},
		{"a master whose pod goes hands over once kube-proxy had its time", 3,
			func(s *Scene) { s.Nodes[0].Deleting, s.Nodes[0].DeletingFor = true, RouteSettleTime }, SwitchOver,
			[]string{"a-1"}},
		{"never to one that is not in sync", 3, func(s *Scene) {
			s.Nodes[0].Deleting, s.Nodes[0].DeletingFor = true, RouteSettleTime
			s.Nodes[1].LinkUp, s.Nodes[2].LinkUp = false, false
		}, Wait, nil},
		{"a master that cannot write to its disk hands over", 3, func(s *Scene) { s.Nodes[0].Misconf = true }, SwitchOver, []string{"a-1"}},
		{"to one that can", 3, func(s *Scene) { s.Nodes[0].Misconf, s.Nodes[1].Misconf = true, true }, SwitchOver, []string{"a-2"}},
		{"a master that cannot write to its disk stays when no replica can", 2,
			func(s *Scene) { s.Nodes[0].Misconf, s.Nodes[1].Misconf = true, true }, Idle, nil},
		{"scaling in moves the master first", 3, func(s *Scene) { MasterIs(s, 2); s.Spec.Size = ptr.To[int32](2) }, SwitchOver, []string{"a-0"}},
		{"scaling in fences what is surplus", 3, func(s *Scene) { s.Spec.Size = ptr.To[int32](2) }, Fence, []string{"a-2"}},
		{"scaling in drops a surplus node once it is fenced", 3,
			func(s *Scene) { s.Spec.Size = ptr.To[int32](2); FencedAt(&s.Nodes[2], 90); Detach(s, 2) }, RemoveMembers,
			[]string{"a-2"}},
		{"to one node, W goes down before the last replica", 2, func(s *Scene) { s.Spec.Size = ptr.To[int32](1) }, SetMinReplicas,
			[]string{"a-0"}},
		{"growing from one raises W only with a replica", 2, func(s *Scene) {
			s.Status.Replication.EffectiveMinReplicas, s.Nodes[0].MinReplicas = 0, 0
			s.Nodes[1].LinkUp = false
		}, Wait, nil},
		{"growing from one raises W once a replica is in sync", 2,
			func(s *Scene) { s.Status.Replication.EffectiveMinReplicas, s.Nodes[0].MinReplicas = 0, 0 }, SetMinReplicas,
			[]string{"a-0"}},
		{"no higher than all that count can follow", 4, func(s *Scene) {
			s.Spec.Durability = &cachev1alpha1.RedisDurability{MinReplicasToWrite: ptr.To[int32](2)}
			MakeSilent(&s.Nodes[3])
		}, Wait, nil},
		{"rolling starts at the highest ordinal", 3, Outdated(0, 1, 2), DeletePod, []string{"a-2"}},
		{"continues", 3, Outdated(0, 1), DeletePod, []string{"a-1"}},
		{"moves the master", 3, Outdated(0), SwitchOver, []string{"a-1"}},
		{"not while kube-proxy takes in a pod that came back", 3, func(s *Scene) { Outdated(0)(s); s.Nodes[2].EndpointChanging = true }, Wait,
			nil},
		{"which is first attached", 3, func(s *Scene) {
			Outdated(0)(s)
			Fresh(&s.Nodes[2])
			s.Nodes[2].EndpointChanging = true
			Detach(s, 2)
		}, RemoveMembers, []string{"a-2"}},
		{"the master is not moved while kube-proxy takes in another route", 3,
			func(s *Scene) { Outdated(0)(s); s.SinceRouted = RouteSettleTime - 1 }, Wait, nil},
		{"whose clients are sent on meanwhile", 3, func(s *Scene) {
			Outdated(0)(s)
			s.SinceRouted = OldClientTime
			s.Status.LastFailover = &cachev1alpha1.RedisFailover{From: "a-1", To: "a-0", RoutedAt: &MicroNow}
		}, DisconnectClients, []string{"a-1"}},
		{"waits while one is away", 3, func(s *Scene) { Outdated(0, 1)(s); s.Nodes[2].LinkUp = false }, Wait, nil},
		{"size 1 is replaced where it stands", 1, Outdated(0), DeletePod, []string{"a-0"}},
		{"a single node whose pod is going is not deleted again", 1, func(s *Scene) {
			Outdated(0)(s)
			s.Nodes[0].Deleting, s.Nodes[0].DeletingFor = true, RouteSettleTime
		}, Idle, nil},
		{"clients of the old master are sent away", 3, func(s *Scene) {
			s.Status.LastFailover = &cachev1alpha1.RedisFailover{From: "a-2", To: "a-0"}
			s.Status.LastFailover.RoutedAt = ptr.To(MicroNow)
			s.SinceRouted = OldClientTime
		}, DisconnectClients, []string{"a-2"}},
	})
}

func TestForming(t *testing.T) {
	for _, c := range []struct {
		reason  string
		storage bool
		given   func(*Scene)
		do      Verb
		nodes   []string
	}{
		{"no one is there", false, func(s *Scene) { SilentAll(s) }, Wait, nil},
		{"the first that is there", false, func(s *Scene) { MakeSilent(&s.Nodes[0]) }, Promote, []string{"a-1"}},
		{"with volumes all are heard first", true, func(s *Scene) { MakeSilent(&s.Nodes[2]) }, Wait, nil},
		{"with volumes the lowest is promoted once all are heard", true, func(*Scene) {}, Promote, []string{"a-0"}},
		{"data goes before ordinals", true, func(s *Scene) { s.Nodes[2].Keys = 4 }, Promote, []string{"a-2"}},
		{"a master that lives is adopted", true, func(s *Scene) { s.Nodes[1].Master = true }, RecordMaster, []string{"a-1"}},
		{"of two masters no one knows which", true, func(s *Scene) { s.Nodes[1].Master, s.Nodes[2].Master = true, true }, Block, nil},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := Healthy(3)
			s.Status = cachev1alpha1.RedisStatus{}
			if c.storage {
				s.Spec.Storage = &cachev1alpha1.RedisStorage{}
			}
			for i := range s.Nodes {
				Fresh(&s.Nodes[i])
			}
			c.given(s)
			if got := s.Situation().Plan(); got.Do != c.do || !slices.Equal(got.NodeNames, c.nodes) {
				t.Errorf("got %s (%s), want %s %v", got, got.Message, c.do, c.nodes)
			}
		})
	}
}
