package topology

import (
	"fmt"
	"slices"
	"strings"
	"time"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

const (
	// ShortRequeue is how soon to look again at what is about to change.
	ShortRequeue = 50 * time.Millisecond
	// RouteSettleTime is how long kube-proxy may delay the next change of a route after the one that a pod's
	// deletion causes; until then the old master serves on. A deletion's time is given in whole seconds: it was
	// up to a second later.
	RouteSettleTime = 2200 * time.Millisecond
	// ReadySettleTime is the same for a pod that became ready: that change reaches kube-proxy in batches, after
	// a second at the most (endpoint updates of kube-controller-manager).
	ReadySettleTime = RouteSettleTime + time.Second
	// NewPodGrace is how long a new pod that is not ready counts as about to become ready: one that is in sync
	// sooner is still to become so.
	NewPodGrace = 10 * time.Second
	// OldClientTime is how long clients that still reach an old master while the route changes are disconnected
	// from it. Until it has passed, no pod gets another role.
	OldClientTime = 1500 * time.Millisecond
)

// Plan decides what to do next. It is pure: the same situation gives the same step. The order has reasons:
//
//   - without a record (hibernated, or not formed yet) nothing below can be judged;
//   - a promotion that was made is recorded before anything is judged by the record;
//   - the record may be older than what the servers do, so a newer master is adopted before any is fenced;
//   - a second master takes writes that will be lost, so it is fenced before anything that can wait;
//   - an operator that reaches no server concludes nothing;
//   - hibernation comes before the master is judged, as hibernating itself fences the master.
func (s Situation) Plan() Step {
	rep := s.Status.Replication
	switch {
	case s.IsHibernated():
		if next, ok := s.endRestore(Node{}); ok {
			return next
		}
		return Step{Do: Idle}
	case rep == nil:
		return s.formRedis()
	}
	target, _ := s.Find(s.Status.TargetMaster)
	if rep.Epoch < s.Status.Epoch && target.Answer == wire.Reached && target.Master {
		return Step{Do: RecordMaster, NodeNames: []string{target.Name}, Message: "it was promoted"}
	}
	usurpers := s.usurpers()
	if next, ok := s.adoptNewerMaster(usurpers); ok {
		return next
	}
	if len(usurpers) > 0 {
		return Step{Do: Fence, NodeNames: NamesOf(usurpers), Message: "only one may be master", Reason: commonv1.ReasonSeveralMasters}
	}
	if s.reachesNoServer() {
		return Step{Do: Block, Reason: commonv1.ReasonOperatorCannotReachPods,
			Message:      fmt.Sprintf("no pod of %s answers the operator on port %d; see whether a NetworkPolicy keeps it out", s.Name, wire.Port),
			RequeueAfter: time.Second}
	}
	if next, ok := s.hibernateIfAsked(); ok {
		return next
	}
	switch is, evidence := s.judgeMaster(); is {
	case masterServing:
		return s.maintain(s.RecordedMaster(rep.Master))
	case masterDead:
		return s.failover(evidence, false)
	case masterLost:
		return s.failover(evidence, true)
	default:
		return Step{Do: Wait, Message: evidence, RequeueAfter: s.untilLost()}
	}
}

// untilLost is how soon to look again at a master that may serve: no later than when it has been silent for too long.
func (s Situation) untilLost() time.Duration {
	m := s.RecordedMaster(s.Status.Replication.Master)
	if left := s.SilenceLimit - m.SilentFor; m.Answer == wire.Silent && left > 0 {
		return min(left, 10*ShortRequeue)
	}
	return 10 * ShortRequeue
}

// reachesNoServer reports whether the operator reaches no server at all: that says something about its own way to
// them, and nothing about them.
func (s Situation) reachesNoServer() bool {
	silent := s.Where(func(m Node) bool { return m.Answer == wire.Silent && m.SilentFor >= s.SilenceLimit })
	return len(silent) > 1 && len(silent) == len(s.Nodes) && s.Ghost == nil
}

// formRedis makes the first master. Nodes that hold data have had one before.
func (s Situation) formRedis() Step {
	masters := s.Where(func(m Node) bool { return m.Answer == wire.Reached && m.Master })
	switch len(masters) {
	case 0:
	case 1:
		return Step{Do: RecordMaster, NodeNames: NamesOf(masters), Message: "it is the only master"}
	default:
		return Step{Do: Block, Reason: commonv1.ReasonSeveralMasters,
			Message: fmt.Sprintf("%s are masters, and no record says which is right; compare their data, and delete the pods of all but one",
				strings.Join(NamesOf(masters), " and "))}
	}
	if erroring := s.erroringNodes(); len(erroring) > 0 {
		return waitForErroring(erroring)
	}
	if unconfirmed := s.Where(Node.IsUnconfirmed); len(unconfirmed) > 0 {
		return waitForConfirmation(unconfirmed)
	}
	if s.IsRestoring() {
		return s.restore()
	}
	if following := s.Where(func(m Node) bool { return m.Answers() && !m.Fenced() }); len(following) > 0 {
		return Step{Do: Fence, NodeNames: NamesOf(following), Message: "there is no record of whom it follows"}
	}
	// A volume may hold data, so all must be heard; a pod without one is born empty.
	missing := s.nodesToHear()
	if s.Storage == nil && len(missing) < int(s.Size) {
		missing = nil
	}
	if next, ok := s.promoteFromVolumes(Step{Do: Promote, Reason: commonv1.ReasonRecovering}, missing); ok {
		return next
	}
	fresh := s.Where(func(m Node) bool { return m.Answers() && !m.Deleting && s.isWanted(m) })
	if len(fresh) == 0 {
		return Step{Do: Wait, Message: "every node that answers is being deleted, or is beyond spec.size; another must start first"}
	}
	return Step{Do: Promote, NodeNames: []string{fresh[0].Name}, Reason: commonv1.ReasonForming}
}

// maintain keeps a Redis whose master serves in shape: a checklist, most urgent first.
func (s Situation) maintain(master Node) Step {
	rep := s.Status.Replication
	if rep.Epoch < max(s.Status.Epoch, s.MaxStampedEpoch()) || rep.ReplID != master.ReplID || !master.Pinned {
		return Step{Do: RecordMaster, NodeNames: []string{master.Name}, Message: "it serves"}
	}
	for _, decide := range []func(Node) (Step, bool){
		s.askAboutSuperseded,   // nothing is done for a master that the others may have continued without
		s.lowerMinReplicas,     // too high a W refuses writes
		s.replaceCutOffMaster,  // a master that its replicas do not hear refuses writes, too
		s.switchoverIfNeeded,   // a master that must go is replaced while it still serves
		s.stampVolumes,         // the volumes say who is behind before a write is confirmed without those
		s.removeLostMembers,    // while a lost member counts, a failover may wait for it
		s.attachReplicas,       // the rules below rely on a complete sync set
		s.raiseMinReplicas,     // enough replicas must follow first
		s.allowStaleReads,      // a node that is in sync by now has data to answer with
		s.updatePasswords,      // what follows commands the nodes, and applications wait for their password
		s.updateSettings,       // running nodes take them without a restart
		s.disconnectOldClients, // after a change of the master, for a moment
		s.requestedSwitchover,  // a human's request waits for the repairs above
		s.evictUnreachable,     // deletes pods: one at a time, and while all others are well
		s.restartLockedOut,     // as above; after it, since these still serve reads
		s.rollOutdated,         // deletes pods, and repairs nothing
		s.updateCertificates,   // the kubelet may take a minute to bring the files: nothing waits behind it for long
		s.expelUnrecorded,      // a replica that is not recorded and still follows: an earlier release may have let it in
		s.changePersistence,    // writes all data to disk, which can wait
		s.endRestore,           // it only takes memory
		s.waitForRoute,         // what is left can wait until kube-proxy has taken in the last change
	} {
		if next, ok := decide(master); ok {
			return next
		}
	}
	if syncing := s.Where(func(m Node) bool { return m.Name != master.Name && s.isWanted(m) && !m.InSync(master) }); len(syncing) > 0 {
		return Step{Do: Wait, Message: "syncing: " + strings.Join(NamesOf(syncing), ", "), RequeueAfter: 2 * ShortRequeue}
	}
	if missing := s.unansweredNodes(); len(missing) > 0 {
		return Step{Do: Wait, Message: "waiting for " + strings.Join(missing, ", "), RequeueAfter: s.untilUnreachable()}
	}
	return Step{Do: Idle}
}

// disconnectOldClients closes the connections of clients that still hold on to the master before this one.
func (s Situation) disconnectOldClients(master Node) (Step, bool) {
	last := s.Status.LastFailover
	if last == nil || last.RoutedAt == nil || s.SinceRouted > OldClientTime || last.From == master.Name {
		return Step{}, false
	}
	old, ok := s.Find(last.From)
	return Step{Do: DisconnectClients, NodeNames: []string{old.Name}, RequeueAfter: 4 * ShortRequeue}, ok && old.Answers()
}

// isWanted reports whether the size asks for that node.
func (s Situation) isWanted(m Node) bool { return config.Ordinal(m.Name) < s.Size }

// allOthers reports whether the test holds for every wanted node but the master.
func (s Situation) allOthers(master Node, matches func(Node) bool) bool {
	return s.Count(func(m Node) bool { return m.Name != master.Name && s.isWanted(m) && !matches(m) }) == 0
}

// unansweredNodes are the wanted nodes that do not answer, or still load their data.
func (s Situation) unansweredNodes() []string {
	return slices.DeleteFunc(s.NodeNames(), func(name string) bool {
		m, _ := s.Find(name)
		return m.Answers()
	})
}

// usurpers are the masters other than the recorded one.
func (s Situation) usurpers() []Node {
	return s.Where(func(m Node) bool {
		return m.Answers() && m.Master && !m.IsProcess(s.Status.Replication.Master)
	})
}

// boolToInt is 1 for true and 0 for false, to compare and to count.
func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
