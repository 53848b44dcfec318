package redis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

const (
	shortRequeue = 50 * time.Millisecond
	// routeSettleTime is how long kube-proxy may delay the next change of a route after the one that a pod's
	// deletion causes; until then the old master serves on. A deletion's time is given in whole seconds: it was
	// up to a second later.
	routeSettleTime = 2200 * time.Millisecond
	// readySettleTime is the same for a pod that became ready: that change reaches kube-proxy in batches, after
	// a second at the most (endpoint updates of kube-controller-manager).
	readySettleTime = routeSettleTime + time.Second
	// newPodGrace is how long a new pod that is not ready counts as about to become ready: one that is in sync
	// sooner is still to become so.
	newPodGrace = 10 * time.Second
	// oldClientTime is how long clients that still reach an old master while the route changes are disconnected
	// from it. Until it has passed, no pod is marked.
	oldClientTime = 1500 * time.Millisecond
)

// situation is what a decision is made from: what is asked for, what is on record, and what one pass saw.
type situation struct {
	spec
	Status *cachev1alpha1.RedisStatus
	world
}

// plan decides what to do next. It is pure: the same situation gives the same step.
func (s situation) plan() step {
	rep := s.Status.Replication
	switch {
	case s.isHibernated():
		return step{do: idle}
	case rep == nil:
		return s.formSet()
	}
	target, _ := s.find(s.Status.TargetMaster)
	if rep.Epoch < s.Status.Epoch && target.Answer == wire.Reached && target.Master {
		return step{do: recordMaster, nodes: []string{target.name}, message: "it was promoted"}
	}
	usurpers := s.usurpers()
	if next, ok := s.adoptNewerMaster(usurpers); ok {
		return next
	}
	if len(usurpers) > 0 {
		return step{do: fence, nodes: namesOf(usurpers), message: "only one may be master", reason: commonv1.ReasonSeveralMasters}
	}
	if s.reachesNobody() {
		return step{do: block, reason: commonv1.ReasonOperatorCannotReachPods,
			message:      fmt.Sprintf("no pod of %s answers the operator on port %d; see whether a NetworkPolicy keeps it out", s.Name, wire.Port),
			requeueAfter: time.Second}
	}
	if next, ok := s.hibernateIfAsked(); ok {
		return next
	}
	switch is, evidence := s.judgeMaster(); is {
	case masterServing:
		return s.maintain(s.recordedMaster(rep.Master))
	case masterDead:
		return s.failover(evidence, false)
	case masterLost:
		return s.failover(evidence, true)
	default:
		return step{do: wait, message: evidence, requeueAfter: s.untilLost()}
	}
}

// untilLost is how soon to look again at a master that may serve: no later than when it has been silent for too long.
func (s situation) untilLost() time.Duration {
	m := s.recordedMaster(s.Status.Replication.Master)
	if left := s.SilenceLimit - m.silentFor; m.Answer == wire.Silent && left > 0 {
		return min(left, 10*shortRequeue)
	}
	return 10 * shortRequeue
}

// reachesNobody reports whether the operator reaches no server at all: that tells something about its own way to
// them, and nothing about them.
func (s situation) reachesNobody() bool {
	silent := s.where(func(m member) bool { return m.Answer == wire.Silent && m.silentFor >= s.SilenceLimit })
	return len(silent) > 1 && len(silent) == len(s.members) && s.ghost == nil
}

// formSet makes the first master. Nodes that hold data have had one before.
func (s situation) formSet() step {
	masters := s.where(func(m member) bool { return m.Answer == wire.Reached && m.Master })
	switch len(masters) {
	case 0:
	case 1:
		return step{do: recordMaster, nodes: namesOf(masters), message: "it is the only master"}
	default:
		return step{do: block, reason: commonv1.ReasonSeveralMasters, message: fmt.Sprintf("%s are masters, and no record says which is right; compare their data, and delete the pods of all but one",
			strings.Join(namesOf(masters), " and "))}
	}
	if following := s.where(func(m member) bool { return m.answers() && !m.Fenced() }); len(following) > 0 {
		return step{do: fence, nodes: namesOf(following), message: "there is no record of whom it follows"}
	}
	// A volume may hold data, so all must be heard; a pod without one is born empty.
	missing := s.nodesToHear()
	if s.Storage == nil && len(missing) < int(s.Size) {
		missing = nil
	}
	if next, ok := s.promoteFromVolumes(step{do: promote, reason: commonv1.ReasonRecovering}, missing); ok {
		return next
	}
	fresh := s.where(func(m member) bool { return m.answers() && !m.deleting && s.isWanted(m) })
	if len(fresh) == 0 {
		return step{do: wait, message: "waiting for a node that stays"}
	}
	return step{do: promote, nodes: []string{fresh[0].name}, reason: commonv1.ReasonForming}
}

// maintain keeps a set with a serving master in shape: a checklist, most urgent first.
func (s situation) maintain(master member) step {
	rep := s.Status.Replication
	if rep.Epoch < max(s.Status.Epoch, s.maxStampedEpoch()) || rep.ReplID != master.ReplID || !master.Pinned {
		return step{do: recordMaster, nodes: []string{master.name}, message: "it serves"}
	}
	for _, decide := range []func(member) (step, bool){
		s.askAboutSuperseded,   // nothing is done for a master that the others may have gone on without
		s.lowerMinReplicas,     // too high a W refuses writes
		s.replaceCutOffMaster,  // so does a master that its replicas do not hear
		s.switchoverIfNeeded,   // a master that must go is replaced while it still serves
		s.stampVolumes,         // the volumes say who is behind before a write is confirmed without those
		s.removeLostMembers,    // who counts and is gone could hold what the others lack
		s.attachReplicas,       // from here on, the record is true
		s.raiseMinReplicas,     // enough replicas must follow first
		s.allowStaleReads,      // a node that is in sync by now has data to answer with
		s.updatePasswords,      // what follows commands the nodes, and applications wait for their password
		s.updateSettings,       // running nodes take them without a restart
		s.disconnectOldClients, // after a change of the master, for a moment
		s.requestedSwitchover,  // a human's request waits for the repairs above
		s.evictUnreachable,     // deletes pods: one at a time, and while all others are well
		s.restartLockedOut,     // the same
		s.rollOutdated,         // the same, and for no repair
		s.updateCertificates,   // the kubelet may take a minute to bring the files: nothing waits behind it for long
		s.expelUnrecorded,      // a replica that is not on record and still follows: an earlier release may have let it in
		s.changePersistence,    // writes all data to disk, which can wait
		s.waitForRoute,         // what is left can wait until kube-proxy has taken in the last change
	} {
		if next, ok := decide(master); ok {
			return next
		}
	}
	if syncing := s.where(func(m member) bool { return m.name != master.name && s.isWanted(m) && !m.inSync(master) }); len(syncing) > 0 {
		return step{do: wait, message: "syncing: " + strings.Join(namesOf(syncing), ", "), requeueAfter: 2 * shortRequeue}
	}
	if missing := s.unansweredNodes(); len(missing) > 0 {
		return step{do: wait, message: "waiting for " + strings.Join(missing, ", "), requeueAfter: s.untilUnreachable()}
	}
	return step{do: idle}
}

// disconnectOldClients closes the connections of clients that still hold on to the master before this one.
func (s situation) disconnectOldClients(master member) (step, bool) {
	last := s.Status.LastFailover
	if last == nil || last.RoutedAt == nil || s.sinceRouted > oldClientTime || last.From == master.name {
		return step{}, false
	}
	old, ok := s.find(last.From)
	return step{do: disconnectClients, nodes: []string{old.name}, requeueAfter: 4 * shortRequeue}, ok && old.answers()
}

// rollOutdated deletes the pod of one outdated replica, from the highest ordinal, while all others are well and
// it has its data where its successor looks for it.
func (s situation) rollOutdated(master member) (step, bool) {
	if len(s.unansweredNodes()) > 0 || !s.allOthers(master, func(m member) bool { return m.inSync(master) && !m.deleting }) {
		return step{}, false
	}
	outdated := s.where(func(m member) bool {
		return m.outdated && !m.deleting && (m.name != master.name || s.Size == 1 && !s.Supervised)
	})
	if len(outdated) == 0 || !outdated[len(outdated)-1].persistsAs(s.settings.Live[appendOnly]) {
		return step{}, false
	}
	return step{do: deletePod, nodes: []string{outdated[len(outdated)-1].name}, message: "its pod is outdated"}, true
}

// isWanted reports whether the size asks for that node.
func (s situation) isWanted(m member) bool { return ordinal(m.name) < s.Size }

// allOthers reports whether the test holds for every wanted node but the master.
func (s situation) allOthers(master member, holds func(member) bool) bool {
	return s.count(func(m member) bool { return m.name != master.name && s.isWanted(m) && !holds(m) }) == 0
}

// unansweredNodes are the wanted nodes that do not answer, or still load their data.
func (s situation) unansweredNodes() []string {
	return slices.DeleteFunc(s.nodeNames(), func(name string) bool {
		m, _ := s.find(name)
		return m.answers()
	})
}

// usurpers are the masters beside the one of record.
func (s situation) usurpers() []member {
	return s.where(func(m member) bool {
		return m.answers() && m.Master && !m.isProcess(s.Status.Replication.Master)
	})
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
