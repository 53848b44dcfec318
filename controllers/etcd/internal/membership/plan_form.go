package membership

import (
	"fmt"
	"strings"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// formOrBlock starts the first cluster of an object. Pods that were permitted to start are those of a cluster whose record is gone, and
// claims keep what a deleted object had: starting another in its place would hide its data, so the object reuses the volumes.
func (s Situation) formOrBlock() Step {
	if permitted := s.Where(func(m Member) bool { return m.Pod.Permit != "" }); len(permitted) > 0 {
		advice := ""
		if s.HasStorage && s.LastStamped() > 0 {
			advice = "or delete these pods, and the object continues with their volumes if the stamps on the claims allow it; "
		}
		return Step{Do: Block, Reason: commonv1.ReasonRecordLost, Message: fmt.Sprintf(
			"status.membership is gone, and %s run with data: restore the object with its status, %sor delete it and its claims and make it "+
				"again, which starts without that data", strings.Join(NamesOf(permitted), ", "), advice)}
	}
	if next, ok := s.reuseVolumes(); ok {
		return next
	}
	return s.form()
}

// form starts a cluster, with the backup that the spec names if it names one.
func (s Situation) form() Step {
	if next, ok := s.blockOnSpec(); ok {
		return next
	}
	if next, ok := s.fetchBackup(); ok {
		return next
	}
	return Step{Do: Form, Version: s.Wanted.String(), Image: s.imageFor(s.Wanted), Restore: s.toRestore()}
}

// blockOnSpec refuses a spec with which no first pod can be made.
func (s Situation) blockOnSpec() (Step, bool) {
	switch {
	case s.WantedError != "":
		return Step{Do: Block, Reason: commonv1.ReasonInvalidSpec, Message: "version: " + s.WantedError}, true
	case s.QuotaError != "":
		return Step{Do: Block, Reason: commonv1.ReasonInvalidSpec, Message: s.QuotaError}, true
	}
	return Step{}, false
}

// FormingMembers are the members that start the cluster, by name. One alone starts with a backup: the others get its data from that one.
func (s Situation) FormingMembers() []string {
	var names []string
	count := min(s.Size, formingMembers)
	if s.hasBackup() {
		count = 1
	}
	for ordinal := range count {
		names = append(names, s.MemberName(ordinal))
	}
	return names
}

// startMembers lets the pod of a member start that has no recorded pod: it is the only one that may start without data. One whose
// volume goes with it would start for nothing: the next pod has another. Nor does one start that was permitted to be another member.
func (s Situation) startMembers() (Step, bool) {
	for _, m := range s.Members {
		switch {
		case m.Record == nil || m.Record.StartedBy != "" || m.Pod.UID == "" || m.Pod.Deleting || m.Pod.ClaimUID == "" && s.HasStorage,
			m.Pod.Permit != "" && m.IsOfFormerMember():
		case m.Pod.ClaimGoes:
			return Step{Do: DeletePod, Member: m.Name, Message: "its PersistentVolumeClaim is being deleted", RequeueAfter: ShortRequeue}, true
		default:
			return Step{Do: StartMember, Member: m.Name}, true
		}
	}
	return Step{}, false
}

// recordIDs waits until the members have met for the first time. It also records who was seen to run.
func (s Situation) recordIDs() (Step, bool) {
	if s.Status.Membership.ClusterID != "" {
		first := s.Where(func(m Member) bool {
			return m.Record != nil && m.Listed != nil && !m.Record.Ran && m.View.Answered && !m.View.IsLearner
		})
		return Step{Do: RecordIDs}, len(first) > 0
	}
	if s.Listed && s.ClusterID != 0 && len(s.unlistedRecords()) == 0 {
		return Step{Do: RecordIDs}, true
	}
	if next, ok := s.blockWhileLockedOut(); ok {
		return next, true
	}
	if stuck := s.stuck(); len(stuck) > 0 {
		return s.blockOnStuck(stuck), true
	}
	if next, ok := s.blockOnForeignData(); ok {
		return next, true
	}
	message := "waiting for the members to form the cluster"
	if lost := s.Where(s.hasLostData); len(lost) > 0 {
		message += "; " + strings.Join(NamesOf(lost), ", ") + " has lost its data, and is replaced then"
	}
	return Step{Do: Wait, Message: message + s.laterEdits(), RequeueAfter: ShortRequeue}, true
}
