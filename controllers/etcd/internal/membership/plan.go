package membership

import (
	"fmt"
	"strings"
	"time"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

const (
	// ShortRequeue is how soon to look again at what is about to change.
	ShortRequeue = 200 * time.Millisecond
	// formingMembers is how many members start a cluster. Later ones join as learners: three meet as fast as one, and a
	// cluster of five then has a majority at any time.
	formingMembers = 3
)

// Situation is what a decision is made from: what is asked for, what is recorded, and what one pass saw.
type Situation struct {
	Spec
	Status *databasev1alpha1.EtcdClusterStatus
	World
}

// Plan decides what to do next. It is pure: the same situation gives the same step. It returns the step of the first rule that
// applies. The comment at a rule says why it has this place.
func (s Situation) Plan() Step {
	if s.Status.Membership == nil {
		return s.formOrBlock()
	}
	for _, decide := range []func() (Step, bool){
		s.stopFormer,                // a restore is recorded: a server that runs with the earlier data is no member any more
		s.prepareRestore,            // it may be what is needed, whatever else is wrong
		s.adoptMembers,              // what runs and is listed is right, and the record may be older than that
		s.deletePodsOfFormerMembers, // a pod that was permitted to start as an earlier member must not continue
		s.startMembers,              // each recorded member must run before anything is asked of the cluster
		s.followPatch,               // before a majority is asked for: a wrong image may be why there is none
		s.goForward,                 // likewise: no pod of an earlier version can start any more
		s.rollBack,                  // likewise: the image of the next version may be why there is none
		s.deleteEarlierPods,         // after these: the next pod is of the version that is chosen now
		s.restartFailing,            // a template that no server runs with must be repaired before a majority is asked for
		s.formAgain,                 // before waitForQuorum: members without data form no majority
		s.serveBackup,               // without it the first member of a new cluster has nothing to start with
		s.recordIDs,                 // from here on, members are known by their IDs
		s.finishRecovery,            // a recovery under way comes first: until it ends there is no majority
		s.blockWhileLockedOut,       // members that refuse the operator's token cannot be asked either
		s.waitForQuorum,             // without a majority the members can be neither read nor changed
		s.endRestore,                // the first member has started, and no other needs the backup
		s.requireLogin,              // before there is data that not every client may see
		s.handLeadOn,                // a pod that is going hands the lead on while it still answers
		s.blockOnUnknownMembers,     // members that somebody else added count for the majority: a human must decide
		s.finishChange,              // one change at a time: the one under way comes first
		s.forgetRemoved,             // before addMissing: a member that somebody removed from etcd must leave the record first
		s.removeUnrecorded,          // an operator that was stopped and woke may have added it: nothing is to rely on it
		s.replaceLost,               // a member without its data is the only one that is replaced while it does not answer
		s.replaceCorrupt,            // data that differs stops all writes
		s.disarmFormer,              // the alarm of a removed member stops all writes, too
		s.removeUnwellSurplus,       // a member that is not wanted must hold up nothing
		s.blockOnForeignData,        // before waitForMembers: a human must say what becomes of it
		s.waitForMembers,            // nothing below is done while a member does not answer
		s.promoteLearners,           // a learner adds nothing to the majority yet
		s.freeSpace,                 // a quota that is exceeded stops all writes
		s.removeSurplus,             // before the rollout, which then recreates fewer pods
		s.correctImage,              // before rollOutdated: an image with a wrong version must reach no further member
		s.rollOutdated,              // before new members come: these are made from the latest template already
		s.addMissing,                // all members are well and alike
		s.continueUpgrade,           // the next version only when all run this one and have agreed on it
		s.deleteUpgradeBackups,      // no upgrade is left to do, and the next one makes its own backup
		s.defragment,                // a member does not answer meanwhile, so nothing else is to be under way
	} {
		if next, ok := decide(); ok {
			return next
		}
	}
	return s.rest()
}

// rest is the step when there is nothing to do. Members that were just started agree on a version within seconds, as their leader checks
// every few seconds, and nothing notifies the operator: until then it looks again soon. With a server whose version is not known there is
// nothing to compare, perhaps for ever.
func (s Situation) rest() Step {
	next := Step{Do: Idle}
	if len(s.Where(func(m Member) bool {
		return m.Record != nil && m.View.Version != (Version{}) && m.View.ClusterVersion != m.View.Version.MinorString()
	})) > 0 {
		next.RequeueAfter = time.Second
	}
	return next
}

// waitForQuorum ends the plan while no majority can be asked.
func (s Situation) waitForQuorum() (Step, bool) {
	if s.Listed {
		return Step{}, false
	}
	if next, ok := s.recoverMajority(); ok {
		return next, true
	}
	if next, ok := s.blockOnForeignData(); ok {
		return next, true // its end may give the majority back
	}
	if stuck := s.stuck(); len(stuck) > 0 {
		next := s.blockOnStuck(stuck)
		next.Reason = commonv1.ReasonNoQuorum
		return next, true
	}
	well := s.Where(Member.IsHealthy)
	message := fmt.Sprintf("%d of %d members answer and know a leader; without a majority etcd takes no writes", len(well),
		len(s.Status.Membership.Members))
	if answered := s.Where(func(m Member) bool { return m.View.Answered || m.View.Waits }); s.Other.Answered && len(answered) == 0 {
		message = fmt.Sprintf(
			"a server answers as a member of cluster %s, and none of cluster %s, which status.membership names: the status may be older "+
				"than an EtcdRestore. If so, delete no pod; save what the members have by etcdctl snapshot save, and restore the latest backup by "+
				"another EtcdRestore",
			FormatID(s.Other.ClusterID), s.Status.Membership.ClusterID)
	}
	if why := s.explainNoRollback(); why != "" {
		message += "; " + why
	}
	return Step{Do: Block, Reason: commonv1.ReasonNoQuorum, RequeueAfter: time.Second, Message: message}, true
}

// waitForMembers ends the plan while a recorded member is not well, or has not heard of the leader: two of three that have no
// connection yet are no majority without the third.
func (s Situation) waitForMembers() (Step, bool) {
	unwell := s.Where(func(m Member) bool { return m.Record != nil && !m.IsHealthy() })
	if refusing := s.refusing(); s.RequiresLogin && len(refusing) > 0 && len(refusing) == len(unwell) {
		return s.blockOnRefusals(refusing), true
	}
	if len(unwell) > 0 {
		message := "waiting for " + strings.Join(NamesOf(unwell), ", ")
		if why := s.explainNoRollback(); why != "" {
			message += "; " + why
		}
		return Step{Do: Wait, Message: message, RequeueAfter: ShortRequeue}, true
	}
	leader, known := s.Leader()
	apart := s.Where(func(m Member) bool { return m.Record != nil && m.View.Leader != leader.View.ID })
	if !known || len(apart) == 0 {
		return Step{}, false
	}
	return Step{Do: Wait, RequeueAfter: ShortRequeue,
		Message: fmt.Sprintf("waiting for %s to follow %s, which leads", strings.Join(NamesOf(apart), ", "), leader.Name)}, true
}
