package membership

import (
	"fmt"
	"slices"
	"strings"
	"time"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

// replaceLost removes a member that has lost its data: it must never start under its old ID, as its vote stood on that data.
// It can never come back, so removing it takes nothing from the majority of the others. addMissing brings a new one in its
// place.
func (s Situation) replaceLost() (Step, bool) {
	lost := s.Where(s.hasLostData)
	if len(lost) == 0 {
		return Step{}, false
	}
	m := lost[0]
	how := s.howLost(m)
	if unwell := s.unwellVoters(m); !s.IsReplaceable(m) {
		return Step{Do: Block, Reason: commonv1.ReasonDataLost, RequeueAfter: time.Second, Message: fmt.Sprintf(
			"%s %s; it is replaced once a majority of the others is healthy (not healthy: %s)",
			m.Name, how, strings.Join(NamesOf(unwell), ", "))}, true
	}
	return Step{Do: RemoveMember, Member: m.Name, Message: "it " + how}, true
}

// IsReplaceable reports whether a majority of the other voters is healthy, so that nothing depends on what that member has.
func (s Situation) IsReplaceable(m Member) bool {
	others := s.Where(func(o Member) bool { return o.IsVoter() && o.Name != m.Name })
	return s.Listed && s.recovery() == "" && len(others)-len(s.unwellVoters(m)) > len(others)/2
}

// unwellVoters are the voters that are not healthy, without that member.
func (s Situation) unwellVoters(without Member) []Member {
	return s.Where(func(o Member) bool { return o.IsVoter() && o.Name != without.Name && !o.IsHealthy() })
}

// removeUnwellSurplus removes a member that is beyond the size and does not run, if a majority of the others is healthy.
func (s Situation) removeUnwellSurplus() (Step, bool) {
	unwell := s.Where(func(m Member) bool { return m.Record != nil && !m.IsHealthy() && Ordinal(m.Name) >= s.Size })
	if len(unwell) == 0 {
		return Step{}, false
	}
	last := unwell[len(unwell)-1]
	others := s.Where(func(o Member) bool { return o.IsVoter() && o.Name != last.Name })
	healthy := slices.DeleteFunc(slices.Clone(others), func(o Member) bool { return !o.IsHealthy() })
	message := fmt.Sprintf("size is %d, and it does not run", s.Size)
	return Step{Do: RemoveMember, Member: last.Name, Message: message}, len(healthy) > len(others)/2
}

// hasLostData reports whether the data that a member's vote stood on is gone.
func (s Situation) hasLostData(m Member) bool {
	if m.Record == nil || m.Record.StartedBy == "" || m.View.Answered {
		return false
	}
	isGone := m.Pod.LostData == m.Record.DataID && !m.View.Waits && (m.Pod.Earlier == nil || s.hasEarlierState(m))
	return isGone || m.hasAnotherClaim() || !s.HasStorage && m.Pod.UID != "" &&
		m.Pod.UID != m.Record.StartedBy
}

// hasAnotherClaim reports whether the volume of the pod is not the one that the member started on. What is on it may be
// an earlier copy.
func (m Member) hasAnotherClaim() bool {
	return m.Pod.ClaimUID != "" && m.Record.ClaimUID != m.Pod.ClaimUID
}

// finishChange continues with the change that is recorded. While another member is not healthy etcd refuses it, so it is
// withdrawn if it was not done: what is wrong must be repaired first.
func (s Situation) finishChange() (Step, bool) {
	c := s.Status.Membership.Change
	if c == nil {
		return Step{}, false
	}
	m, _ := s.Find(c.Name)
	unwell := s.Where(func(o Member) bool { return o.Record != nil && o.Name != c.Name && !o.IsHealthy() })
	withdraw := Step{Do: WithdrawChange, Member: c.Name, Message: "waiting for " + strings.Join(NamesOf(unwell), ", ")}
	if c.Type == databasev1alpha1.EtcdRemove {
		isListed := m.Listed != nil && FormatID(m.Listed.ID) == c.ID
		if len(unwell) > 0 && isListed && !s.hasLostData(m) {
			return withdraw, true
		}
		return Step{Do: RemoveMember, Member: c.Name}, true
	}
	if len(unwell) > 0 && m.Listed == nil {
		return withdraw, true
	}
	return Step{Do: AddMember, Member: c.Name}, true
}

// forgetRemoved takes a member off the record that etcd no longer lists.
func (s Situation) forgetRemoved() (Step, bool) {
	removed := s.unlistedRecords()
	if len(removed) == 0 {
		return Step{}, false
	}
	return Step{Do: ForgetMember, Member: removed[0].Name, Message: "etcd no longer lists it"}, true
}

// removeUnrecorded removes a member that has a peer URL of ours and is not recorded.
func (s Situation) removeUnrecorded() (Step, bool) {
	extra := s.Where(func(m Member) bool { return m.Record == nil && m.Listed != nil })
	if len(extra) == 0 {
		return Step{}, false
	}
	return Step{Do: RemoveMember, Member: extra[0].Name, Message: "it is not recorded"}, true
}

// unlistedRecords are recorded members that etcd does not list, or in whose place it lists another that has never started: no
// pod ever starts as that one.
func (s Situation) unlistedRecords() []Member {
	return s.Where(func(m Member) bool {
		return m.Record != nil && (m.Listed == nil || m.Listed.Name == "" && m.Record.ID != "" && m.Record.ID != FormatID(m.Listed.ID))
	})
}

// blockOnUnknownMembers ends the plan while etcd lists a member that the operator has not added.
func (s Situation) blockOnUnknownMembers() (Step, bool) {
	if len(s.UnknownMembers) == 0 {
		return Step{}, false
	}
	var all []string
	for _, m := range s.UnknownMembers {
		all = append(all, FormatID(m.ID))
	}
	return Step{Do: Block, Reason: commonv1.ReasonUnknownMember, RequeueAfter: 10 * time.Second, Message: fmt.Sprintf(
		"etcd lists members that the operator has not added: %s; remove them with etcdctl member remove", strings.Join(all, ", "))}, true
}
