package membership

import (
	"fmt"
	"slices"
	"strings"
	"time"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// restartFailing deletes an outdated pod whose container does not run, because a later template may start it. Whether that is allowed is
// asked of the pod itself: the data of another one says nothing about it. While a pod of the latest template fails, too, no further
// pod gets that template; a cluster that is forming has nothing to lose by it. Without a majority, a pod that cannot start gets the
// template as well: the failing pod may be dead for another reason, and must not keep the template from the pod that restores the
// majority.
// A container that has ended is started again by its kubelet, and may serve by the time of the act: so the pod goes only as it was seen.
func (s Situation) restartFailing() (Step, bool) {
	if len(s.Where(func(m Member) bool { return m.Pod.Deleting })) > 0 {
		return Step{}, false
	}
	isForming := s.Status.Membership.ClusterID == "" && s.restored() == nil
	isProven := len(s.Where(func(m Member) bool { return m.hasNoServer() && !m.Pod.Outdated })) == 0
	for _, m := range s.Members {
		mayGetTemplate := isProven || isForming || !s.Listed && m.Pod.Fails
		if m.failsOutdated() && s.mayLosePod(m) && mayGetTemplate {
			return Step{Do: DeletePod, Member: m.Name, AsSeen: true, NeedsClaim: s.needsClaim(m),
				Message: "no server runs in it, and its pod is outdated", RequeueAfter: ShortRequeue}, true
		}
	}
	return Step{}, false
}

// failsOutdated reports whether a member's pod is outdated and runs no server.
func (m Member) failsOutdated() bool {
	return m.hasNoServer() && m.Pod.Outdated && !m.Pod.Ready && !m.View.IsOfServer()
}

// mayLosePod reports whether no data is lost with the pod of a member that does not run, or only what the others replace: the pod never
// ran, the data is on a volume that stays, or the member is replaced as one is that has lost its data.
func (s Situation) mayLosePod(m Member) bool {
	return m.podHasNoData() || s.HasStorage && !m.Pod.ClaimGoes || s.IsReplaceable(m)
}

// needsClaim reports whether only the volume of a member keeps its data once its pod goes.
func (s Situation) needsClaim(m Member) bool {
	return s.HasStorage && !m.podHasNoData() && !s.IsReplaceable(m)
}

// podHasNoData reports whether it is proven that no server ever ran in the pod of a member.
func (m Member) podHasNoData() bool {
	return m.Pod.NeverRan && (!m.Record.Ran || m.Record.StartedBy != m.Pod.UID)
}

// stuck are the members whose outdated pod has ended and stays, because no other member is known to have its data.
func (s Situation) stuck() []Member {
	return s.Where(func(m Member) bool { return m.failsOutdated() && m.Pod.HasRun && !s.mayLosePod(m) })
}

// blockOnStuck says what only a human can decide about them.
func (s Situation) blockOnStuck(stuck []Member) Step {
	return Step{Do: Block, Reason: commonv1.ReasonRestartBlocked, RequeueAfter: time.Second, Message: fmt.Sprintf(
		"the pods of %s are outdated and have ended; they ran, so what only they may hold would go with them, and no majority of other "+
			"members is healthy. "+
			"If they hold nothing that is worth keeping, delete these pods: the next ones have the latest template",
		strings.Join(NamesOf(stuck), ", "))}
}

// hasNoServer reports whether the pod of a recorded member runs no server.
func (m Member) hasNoServer() bool {
	return m.Record != nil && m.Pod.UID != "" && (m.Pod.Stopped || !m.Pod.HasRun)
}

// moveLeaderFrom hands the lead to another voter, if that member has it.
func (s Situation) moveLeaderFrom(m Member) (Step, bool) {
	leader, _ := s.Leader()
	if leader.Name != m.Name {
		return Step{}, false
	}
	successors := s.Where(func(o Member) bool { return o.Name != m.Name && o.IsVoter() && o.IsHealthy() && !o.Pod.Deleting })
	if len(successors) == 0 {
		return Step{}, false
	}
	// The one that has most of the log, and of these one that stays.
	successor := slices.MaxFunc(successors, func(a, b Member) int {
		if stays := boolToInt(!a.Pod.Outdated) - boolToInt(!b.Pod.Outdated); stays != 0 {
			return stays
		}
		return int(int64(a.View.Index) - int64(b.View.Index))
	})
	return Step{Do: MoveLeader, Member: m.Name, Target: successor.Name}, true
}

// rollOutdated has the pod of one outdated member recreated, from the highest ordinal, the leader last. All members are well here.
// Of three voters or more the budget spares one; a single one it never spares, so that pod is deleted.
func (s Situation) rollOutdated() (Step, bool) {
	if deleting := s.Where(func(m Member) bool { return m.Record != nil && m.Pod.Deleting }); len(deleting) > 0 {
		return Step{Do: Wait, Message: "waiting for " + deleting[0].Name + " to be recreated", RequeueAfter: ShortRequeue}, true
	}
	outdated, voters := s.Where(func(m Member) bool { return m.Record != nil && m.Pod.Outdated }), len(s.Where(Member.IsVoter))
	if len(outdated) == 0 || voters < int(s.Size) {
		return Step{}, false // of two none can be spared, and the budget counts the pod of a place that is empty: others come first
	}
	if next, ok := s.blockOnNextQuota(); ok {
		return next, true
	}
	if voters == 1 && !s.HasStorage {
		return Step{Do: Block, Reason: commonv1.ReasonRestartBlocked, Message: fmt.Sprintf(
			"%s must be recreated and is the only copy of the data, which would go with its pod: set size to 3, or make a new EtcdCluster "+
				"with storage", outdated[0].Name)}, true
	}
	if voters == 1 && outdated[0].Pod.ClaimGoes {
		return Step{Do: Block, Reason: commonv1.ReasonRestartBlocked, Message: fmt.Sprintf(
			"%s must be recreated and is the only copy of the data, which would go with its pod, as somebody has deleted its "+
				"PersistentVolumeClaim: set size to 3",
			outdated[0].Name)}, true
	}
	leader, _ := s.Leader()
	last := outdated[len(outdated)-1]
	if last.Name == leader.Name && len(outdated) > 1 {
		last = outdated[len(outdated)-2]
	}
	if i := slices.IndexFunc(outdated, func(m Member) bool { return !m.Pod.Ready }); i >= 0 {
		last = outdated[i] // while it is not ready, the budget spares no other
	}
	if next, ok := s.moveLeaderFrom(last); ok {
		return next, true
	}
	remove := EvictPod
	if voters == 1 {
		remove = DeletePod
	}
	return Step{Do: remove, Member: last.Name, NeedsClaim: voters == 1, Message: "its pod is outdated", RequeueAfter: ShortRequeue}, true
}

// handLeadOn moves the lead away from a pod that somebody deletes or drains, while it still answers.
func (s Situation) handLeadOn() (Step, bool) {
	leader, _ := s.Leader()
	if !leader.Pod.Deleting {
		return Step{}, false
	}
	return s.moveLeaderFrom(leader)
}

// boolToInt is 1 for true and 0 for false, to compare.
func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
