package redis

import (
	"slices"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
)

func TestPlan(t *testing.T) {
	for _, c := range []struct {
		reason string
		size   int32
		given  func(*scene)
		do     verb
		nodes  []string
	}{
		{"nothing to do", 3, func(*scene) {}, idle, nil},

		// The master is dead.
		{"a refused master freezes first", 3, func(s *scene) { refused(&s.members[0]); linksDown(s) }, fence, []string{"a-1", "a-2"}},
		{"a restarted master freezes first", 3, func(s *scene) { fresh(&s.members[0]); linksDown(s) }, fence, []string{"a-1", "a-2"}},
		{"a terminated container freezes first", 3, func(s *scene) { makeSilent(&s.members[0]); s.members[0].stopped = true; linksDown(s) }, fence, []string{"a-1", "a-2"}},
		{"frozen, the highest offset is promoted", 3, func(s *scene) { refused(&s.members[0]); freezeAll(s, 90, 95) }, promote, []string{"a-2"}},
		{"of equals the one that was intended goes on", 3, func(s *scene) {
			refused(&s.members[0])
			freezeAll(s, 90, 90)
			s.Status.TargetMaster, s.Status.Epoch = "a-2", 8
		}, promote, []string{"a-2"}},
		{"a fenced master that has all is promoted back", 3, func(s *scene) { frozen(&s.members[0], 100); s.members[0].Master = false; freezeAll(s, 90, 95) }, promote, []string{"a-0"}},
		{"a master that follows a fenced node freezes first", 3, func(s *scene) {
			m := &s.members[0]
			m.Master, m.MasterHost, m.LinkUp = false, s.members[1].address, true
			frozen(&s.members[1], 100)
		}, fence, []string{"a-0", "a-2"}},
		{"a promotion that was begun and done is recorded", 3, func(s *scene) {
			refused(&s.members[0])
			freezeAll(s, 90, 95)
			s.Status.TargetMaster, s.Status.Epoch = "a-2", 8
			s.members[2].Master, s.members[2].ReplID = true, nextHistory
		}, recordMaster, []string{"a-2"}},

		// What looks dead and is not proven so.
		{"a silent master", 3, func(s *scene) { makeSilent(&s.members[0]); linksDown(s) }, wait, nil},
		{"a refusal while a replica hears the master", 3, func(s *scene) { refused(&s.members[0]); s.members[1].LinkUp = false }, wait, nil},

		// Who does not know the operator's password is alive.
		{"a master that is locked out serves", 3, func(s *scene) { authFailed(&s.members[0]) }, wait, nil},
		{"also when nobody hears it", 3, func(s *scene) { authFailed(&s.members[0]); linksDown(s) }, wait, nil},
		{"and when all others froze", 3, func(s *scene) { authFailed(&s.members[0]); freezeAll(s, 90, 95); s.frozenFor = time.Hour }, wait, nil},
		{"a locked out member may hold the latest writes", 3, func(s *scene) { restartAll(s); s.members[0].Keys = 1; authFailed(&s.members[2]) }, block, nil},
		{"unless told to go on without", 3, func(s *scene) {
			restartAll(s)
			s.members[0].Keys = 1
			authFailed(&s.members[2])
			s.Annotations = map[string]string{cachev1alpha1.RedisAllowUnsafePromotion: "7"}
		}, promote, []string{"a-0"}},
		{"also where only a replica's volume is left", 3, func(s *scene) {
			restartAll(s)
			s.members[1].Keys = 1
			makeSilent(&s.members[0])
			s.members[0].silentFor, s.frozenFor = time.Hour, time.Hour
			s.Annotations = map[string]string{cachev1alpha1.RedisAllowUnsafePromotion: "7"}
		}, promote, []string{"a-1"}},
		{"a replica that is locked out is started anew", 3, func(s *scene) { authFailed(&s.members[1]) }, deletePod, []string{"a-1"}},
		{"of several one at a time", 3, func(s *scene) { authFailed(&s.members[1]); authFailed(&s.members[2]) }, deletePod, []string{"a-2"}},
		{"not while another goes", 3, func(s *scene) { authFailed(&s.members[1]); authFailed(&s.members[2]); s.members[2].deleting = true }, wait, nil},
		{"nor while another is behind", 3, func(s *scene) { authFailed(&s.members[1]); s.members[2].LinkUp = false }, wait, nil},

		// Passwords.
		{"whoever may accept others is told", 3, func(s *scene) { s.members[0].passwordsUnknown, s.members[2].passwordsUnknown = true, true }, setPasswords, []string{"a-0", "a-2"}},
		{"once, when it refuses", 3, func(s *scene) { s.members[2].passwordsUnknown, s.members[2].refusesPasswords = true, true }, idle, nil},
		{"not while it loads", 3, func(s *scene) { s.members[2].passwordsUnknown, s.members[2].Loading = true, true }, wait, nil},
		{"never before the master's end is dealt with", 3, func(s *scene) { refused(&s.members[0]); linksDown(s); s.members[2].passwordsUnknown = true }, fence, []string{"a-1", "a-2"}},
		{"before anything is rolled", 3, func(s *scene) { outdated(0, 1, 2)(s); s.members[1].passwordsUnknown = true }, setPasswords, []string{"a-1"}},

		// R + W > N.
		{"one of two frozen is too few for W=1", 3, func(s *scene) { refused(&s.members[0]); freezeAll(s, 90, 95); makeSilent(&s.members[2]) }, block, nil},
		{"and enough for W=2", 3, func(s *scene) {
			refused(&s.members[0])
			freezeAll(s, 90, 95)
			makeSilent(&s.members[2])
			s.Spec.Durability = &cachev1alpha1.RedisDurability{MinReplicasToWrite: ptr.To[int32](2)}
			s.Status.Replication.EffectiveMinReplicas = 2
		}, promote, []string{"a-1"}},
		{"a member back with a new run id does not unblock", 3, func(s *scene) { refused(&s.members[0]); freezeAll(s, 90, 95); fresh(&s.members[2]) }, block, nil},
		{"one that never reached the history is not counted", 3, func(s *scene) {
			refused(&s.members[0])
			freezeAll(s, 90, 0)
			s.members[2].ReplID, s.members[2].Pinned = "random", false
		}, promote, []string{"a-1"}},
		{"the annotation goes on without", 3, func(s *scene) {
			refused(&s.members[0])
			freezeAll(s, 90, 95)
			makeSilent(&s.members[2])
			s.Annotations = map[string]string{cachev1alpha1.RedisAllowUnsafePromotion: "7"}
		}, promote, []string{"a-1"}},
		{"the annotation of an earlier epoch does not", 3, func(s *scene) {
			refused(&s.members[0])
			freezeAll(s, 90, 95)
			makeSilent(&s.members[2])
			s.Annotations = map[string]string{cachev1alpha1.RedisAllowUnsafePromotion: "6"}
		}, block, nil},
		{"a higher offset in another history is no candidate", 3, func(s *scene) {
			refused(&s.members[0])
			freezeAll(s, 90, 1000)
			s.members[2].ReplID, s.members[2].Pinned = "random", false
		}, promote, []string{"a-1"}},
		{"one that loads is no candidate", 3, func(s *scene) {
			refused(&s.members[0])
			freezeAll(s, 90, 1000)
			s.members[2].Loading = true
		}, block, nil},

		// The master's pod object is gone.
		{"a ghost that serves hands over", 3, func(s *scene) { orphan(s) }, switchOver, []string{"a-1"}},
		{"a silent ghost freezes", 3, func(s *scene) { makeSilent(orphan(s)); linksDown(s) }, fence, []string{"a-1", "a-2"}},
		{"and is outlasted", 3, func(s *scene) { freezeAll(s, 90, 95); makeSilent(orphan(s)); s.frozenFor = 4*time.Second - 1 }, wait, nil},
		{"then promotes", 3, func(s *scene) { freezeAll(s, 90, 95); makeSilent(orphan(s)); s.frozenFor = 4 * time.Second }, promote, []string{"a-2"}},
		{"a ghost that answers again is served out", 3, func(s *scene) { freezeAll(s, 90, 95); orphan(s); s.frozenFor = 4 * time.Second }, attachReplicas, []string{"a-1", "a-2"}},
		{"a silent ghost that is heard is waited for", 3, func(s *scene) { makeSilent(orphan(s)) }, wait, nil},
		{"a refusing ghost is not waited for", 3, func(s *scene) { freezeAll(s, 90, 95); refused(orphan(s)) }, promote, []string{"a-2"}},
		{"a stranger at the ghost's address may be the master itself, and is outlasted", 3, func(s *scene) {
			freezeAll(s, 90, 95)
			authFailed(orphan(s))
			s.frozenFor = s.situation().lostMasterWait() - 1
		}, wait, nil},
		{"then promotes", 3, func(s *scene) {
			freezeAll(s, 90, 95)
			authFailed(orphan(s))
			s.frozenFor = s.situation().lostMasterWait()
		}, promote, []string{"a-2"}},
		{"one that replicas hear is the master", 3, func(s *scene) { authFailed(orphan(s)) }, wait, nil},
		{"a new pod of the master's name proves nothing", 3, func(s *scene) {
			makeSilent(orphan(s))
			again := running(0)
			again.podUID, again.address = "another", "10.0.0.9"
			fresh(&again)
			s.members = slices.Insert(s.members, 0, again)
		}, wait, nil},

		// No process is left that ran with the history.
		{"the last master, with its data", 3, func(s *scene) { restartAll(s); s.members[0].Keys = 1 }, promote, []string{"a-0"}},
		{"empty, it does not wipe those with data", 3, func(s *scene) { restartAll(s); s.members[2].Keys = 3 }, promote, []string{"a-2"}},
		{"nobody has data, all are there", 3, func(s *scene) { restartAll(s) }, promote, []string{"a-0"}},
		{"nobody has data, one is missing", 3, func(s *scene) { restartAll(s); refused(&s.members[1]) }, wait, nil},
		{"the last master still loads", 3, func(s *scene) { restartAll(s); s.members[0].Loading = true; s.members[1].Keys = 9 }, wait, nil},
		{"one may still have it and is silent", 3, func(s *scene) { restartAll(s); s.members[0].Keys = 9; makeSilent(&s.members[1]) }, wait, nil},
		{"for long, and a human is asked", 3, func(s *scene) {
			restartAll(s)
			s.members[0].Keys = 9
			makeSilent(&s.members[1])
			s.members[1].silentFor = time.Hour
		}, block, nil},
		{"size 1 restarted", 1, func(s *scene) { fresh(&s.members[0]); s.members[0].Keys = 2 }, promote, []string{"a-0"}},

		// The master serves.
		{"a second master is fenced before anything else", 3, func(s *scene) { s.members[2].Master = true; refused(&s.members[1]) }, fence, []string{"a-2"}},
		{"a restarted replica leaves the sync set first", 3, func(s *scene) { fresh(&s.members[1]); detach(s, 1) }, removeMembers, []string{"a-1"}},
		{"also while the master still feeds its process, which it will not let in again", 3, func(s *scene) { fresh(&s.members[1]) }, removeMembers, []string{"a-1"}},
		{"not while another has not all", 3, func(s *scene) { fresh(&s.members[1]); detach(s, 1); s.members[2].LinkUp = false }, wait, nil},
		{"also while another is silent", 3, func(s *scene) { fresh(&s.members[1]); detach(s, 1); makeSilent(&s.members[2]) }, wait, nil},
		{"but not for good", 3, func(s *scene) {
			fresh(&s.members[1])
			detach(s, 1)
			makeSilent(&s.members[2])
			s.members[2].silentFor = unreachableLimit
		}, removeMembers, []string{"a-1"}},
		{"one that started anew before it followed is fenced, to be counted as it is", 3, func(s *scene) { s.members[1].RunID = "another" }, fence, []string{"a-1"}},
		{"or dropped, while it loads and cannot be told", 3, func(s *scene) { s.members[1].RunID, s.members[1].Loading = "another", true }, removeMembers, []string{"a-1"}},
		{"then it is attached anew", 3, func(s *scene) { fresh(&s.members[1]); detach(s, 1); forgetMember(s, "a-1") }, attachReplicas, []string{"a-1"}},
		{"an old master that came back is attached", 3, func(s *scene) { frozen(&s.members[1], 3); forgetMember(s, "a-1"); detach(s, 1) }, attachReplicas, []string{"a-1"}},
		{"a frozen replica of a serving master is let go", 3, func(s *scene) { freezeAll(s, 90, 90) }, attachReplicas, []string{"a-1", "a-2"}},
		{"a replica of somebody else", 3, func(s *scene) { s.members[2].MasterHost = "10.9.9.9" }, attachReplicas, []string{"a-2"}},
		{"a new history is recorded", 3, func(s *scene) { s.members[0].ReplID = nextHistory }, recordMaster, []string{"a-0"}},
		{"syncing is waited for", 3, func(s *scene) { s.members[2].LinkUp = false }, wait, nil},
		{"W drifted", 3, func(s *scene) { s.members[0].MinReplicas = 0 }, setMinReplicas, []string{"a-0"}},

		// Planned moves.
		{"a pod that goes is given the time that kube-proxy needs", 3, func(s *scene) { s.members[0].deleting = true }, wait, nil},
		{"then hands over", 3, func(s *scene) { s.members[0].deleting, s.members[0].deletingFor = true, routeSettleTime }, switchOver, []string{"a-1"}},
		{"never to one that is not in sync", 3, func(s *scene) {
			s.members[0].deleting, s.members[0].deletingFor = true, routeSettleTime
			s.members[1].LinkUp, s.members[2].LinkUp = false, false
		}, wait, nil},
		{"a master that cannot write to its disk hands over", 3, func(s *scene) { s.members[0].Misconf = true }, switchOver, []string{"a-1"}},
		{"to one that can", 3, func(s *scene) { s.members[0].Misconf, s.members[1].Misconf = true, true }, switchOver, []string{"a-2"}},
		{"or to nobody", 2, func(s *scene) { s.members[0].Misconf, s.members[1].Misconf = true, true }, idle, nil},
		{"scaling in moves the master first", 3, func(s *scene) { masterIs(s, 2); s.Spec.Size = ptr.To[int32](2) }, switchOver, []string{"a-0"}},
		{"scaling in fences what is surplus", 3, func(s *scene) { s.Spec.Size = ptr.To[int32](2) }, fence, []string{"a-2"}},
		{"then drops it", 3, func(s *scene) { s.Spec.Size = ptr.To[int32](2); frozen(&s.members[2], 90); detach(s, 2) }, removeMembers, []string{"a-2"}},
		{"to one node, W goes down before the last replica", 2, func(s *scene) { s.Spec.Size = ptr.To[int32](1) }, setMinReplicas, []string{"a-0"}},
		{"growing from one raises W only with a replica", 2, func(s *scene) {
			s.Status.Replication.EffectiveMinReplicas, s.members[0].MinReplicas = 0, 0
			s.members[1].LinkUp = false
		}, wait, nil},
		{"and then does", 2, func(s *scene) { s.Status.Replication.EffectiveMinReplicas, s.members[0].MinReplicas = 0, 0 }, setMinReplicas, []string{"a-0"}},
		{"no higher than all that count can follow", 4, func(s *scene) {
			s.Spec.Durability = &cachev1alpha1.RedisDurability{MinReplicasToWrite: ptr.To[int32](2)}
			makeSilent(&s.members[3])
		}, wait, nil},
		{"rolling begins at the highest ordinal", 3, outdated(0, 1, 2), deletePod, []string{"a-2"}},
		{"goes on", 3, outdated(0, 1), deletePod, []string{"a-1"}},
		{"moves the master", 3, outdated(0), switchOver, []string{"a-1"}},
		{"not while kube-proxy takes in a pod that came back", 3, func(s *scene) { outdated(0)(s); s.members[2].endpointChanging = true }, wait, nil},
		{"which is first attached", 3, func(s *scene) {
			outdated(0)(s)
			fresh(&s.members[2])
			s.members[2].endpointChanging = true
			detach(s, 2)
		}, removeMembers, []string{"a-2"}},
		{"or another route", 3, func(s *scene) { outdated(0)(s); s.sinceRouted = routeSettleTime - 1 }, wait, nil},
		{"whose clients are sent on meanwhile", 3, func(s *scene) {
			outdated(0)(s)
			s.sinceRouted = oldClientTime
			s.Status.LastFailover = &cachev1alpha1.RedisFailover{From: "a-1", To: "a-0", RoutedAt: &microNow}
		}, disconnectClients, []string{"a-1"}},
		{"waits while one is away", 3, func(s *scene) { outdated(0, 1)(s); s.members[2].LinkUp = false }, wait, nil},
		{"size 1 is replaced where it stands", 1, outdated(0), deletePod, []string{"a-0"}},
		{"and is asked to go once", 1, func(s *scene) {
			outdated(0)(s)
			s.members[0].deleting, s.members[0].deletingFor = true, routeSettleTime
		}, idle, nil},
		{"clients of the old master are sent away", 3, func(s *scene) {
			s.Status.LastFailover = &cachev1alpha1.RedisFailover{From: "a-2", To: "a-0"}
			s.Status.LastFailover.RoutedAt = ptr.To(microNow)
			s.sinceRouted = oldClientTime
		}, disconnectClients, []string{"a-2"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := healthy(c.size)
			c.given(s)
			got := s.situation().plan()
			if got.do != c.do || !slices.Equal(got.nodes, c.nodes) {
				t.Errorf("got %s (%s), want %s %v", got, got.message, c.do, c.nodes)
			}
		})
	}
}

func TestForming(t *testing.T) {
	for _, c := range []struct {
		reason  string
		storage bool
		given   func(*scene)
		do      verb
		nodes   []string
	}{
		{"nobody is there", false, func(s *scene) { silentAll(s) }, wait, nil},
		{"the first that is there", false, func(s *scene) { makeSilent(&s.members[0]) }, promote, []string{"a-1"}},
		{"with volumes all are heard first", true, func(s *scene) { makeSilent(&s.members[2]) }, wait, nil},
		{"then the lowest", true, func(*scene) {}, promote, []string{"a-0"}},
		{"data goes before ordinals", true, func(s *scene) { s.members[2].Keys = 4 }, promote, []string{"a-2"}},
		{"a master that lives is adopted", true, func(s *scene) { s.members[1].Master = true }, recordMaster, []string{"a-1"}},
		{"of two masters nobody knows which", true, func(s *scene) { s.members[1].Master, s.members[2].Master = true, true }, block, nil},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := healthy(3)
			s.Status = cachev1alpha1.RedisStatus{}
			if c.storage {
				s.Spec.Storage = &cachev1alpha1.RedisStorage{}
			}
			for i := range s.members {
				fresh(&s.members[i])
			}
			c.given(s)
			if got := s.situation().plan(); got.do != c.do || !slices.Equal(got.nodes, c.nodes) {
				t.Errorf("got %s (%s), want %s %v", got, got.message, c.do, c.nodes)
			}
		})
	}
}
