package membership

import (
	"fmt"
)

// DesiredPods is how many pods there shall be: one for each recorded member, and for those with lower ordinals.
func (s Situation) DesiredPods() int32 {
	var pods int32
	if s.Status.Membership != nil {
		for _, m := range s.Status.Membership.Members {
			pods = max(pods, Ordinal(m.Name)+1)
		}
	}
	return pods
}

// promoteLearners makes a learner a voter. The leader refuses while the learner has not caught up.
func (s Situation) promoteLearners() (Step, bool) {
	learners := s.Where(Member.IsLearner)
	if len(learners) == 0 {
		return Step{}, false
	}
	return Step{Do: PromoteMember, Member: learners[0].Name}, true
}

// removeSurplus removes the member with the highest ordinal, as a StatefulSet takes that pod away.
func (s Situation) removeSurplus() (Step, bool) {
	surplus := s.Where(func(m Member) bool { return m.Record != nil && Ordinal(m.Name) >= s.Size })
	if len(surplus) == 0 {
		return Step{}, false
	}
	last := surplus[len(surplus)-1]
	if next, ok := s.moveLeaderFrom(last); ok {
		return next, true
	}
	return Step{Do: RemoveMember, Member: last.Name, Message: fmt.Sprintf("size is %d", s.Size)}, true
}

// addMissing adds one member, in the lowest place that is free.
func (s Situation) addMissing() (Step, bool) {
	for ordinal := range s.Size {
		m, _ := s.Find(s.MemberName(ordinal))
		if m.Record == nil && m.Pod.Permit != "" {
			return Step{Do: Wait, Message: "waiting for the server of the former member of " + m.Name + " to end", RequeueAfter: ShortRequeue}, true
		}
		if m.Record == nil {
			return Step{Do: AddMember, Member: s.MemberName(ordinal)}, true
		}
	}
	return Step{}, false
}
