package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// The record is older than what the servers do if the API server was restored from a
// backup. Then the servers themselves say who is right.

// adoptNewerMaster takes a master that is not recorded for the right one when enough replicas follow it to
// confirm writes. A replaced master has so many only after a promotion that a human forced: any other promotion
// first fences more than N - W of them (see isSafe), and no master lets in replicas that are not on its record.
func (s Situation) adoptNewerMaster(usurpers []Node) (Step, bool) {
	master, serves := s.ServingMaster()
	right := slices.DeleteFunc(slices.Clone(usurpers), func(m Node) bool { return !s.canConfirm(m) || s.wasReplaced(m) })
	switch {
	case len(right) == 0:
		return Step{}, false
	case len(right) == 1 && (!serves || master.MinReplicas > 0 && !s.canConfirm(master)):
		return Step{Do: RecordMaster, NodeNames: NamesOf(right), Reason: commonv1.ReasonRecordOutdated,
			Evidence: fmt.Sprintf("%s serves and is followed, %s of the record does not", right[0].Name, s.Status.Replication.Master.Name)}, true
	}
	return Step{Do: Block, Reason: commonv1.ReasonSeveralMasters, RequeueAfter: 10 * ShortRequeue,
			Message: fmt.Sprintf(
				"nothing says which of %s is the right master; make the others its replicas: REPLICAOF <its address> %d, as user %s with the "+
					"password of that name in Secret %q",
				strings.Join(NamesOf(s.Where(func(m Node) bool { return m.Answers() && m.Master })), ", "), wire.Port, wire.Operator, s.SystemName())},
		true
}

// wasReplaced reports whether a master is known to be one that was replaced, however many
// follow it: a human may have allowed a promotion without those that were with it.
func (s Situation) wasReplaced(m Node) bool {
	rep := s.Status.Replication
	if s.RecordedMaster(rep.Master).FormerReplID == m.ReplID || rep.FormerReplID == m.ReplID { // what the recorded one continued from
		return true
	}
	for _, v := range s.Volumes {
		if v.ReplID == m.ReplID && v.Epoch < rep.Epoch {
			return true
		}
	}
	return false
}

// canConfirm reports whether as many replicas follow that master as it needs to confirm a write.
func (s Situation) canConfirm(master Node) bool {
	return s.Count(func(m Node) bool { return m.InSync(master) }) >= int(max(1, master.MinReplicas))
}

// strayedProcesses are processes that live on with a history that is neither the record's nor an earlier one.
// The record may be the older one, or somebody promoted them by hand.
func (s Situation) strayedProcesses(candidates []Node) []Node {
	known := s.knownHistories()
	for _, m := range candidates {
		known = append(known, m.ReplID, m.FormerReplID, s.Status.Replication.FormerReplID)
	}
	strayed := s.Where(func(m Node) bool {
		sharesHistory := slices.ContainsFunc(candidates, func(h Node) bool { return h.FormerReplID != "" && h.FormerReplID == m.FormerReplID })
		return m.Answers() && m.Pinned && !sharesHistory && !slices.Contains(known, m.ReplID)
	})
	slices.SortStableFunc(strayed, func(a, b Node) int { return cmp.Compare(b.Offset, a.Offset) })
	return strayed
}

// knownHistories are the histories that the Redis had up to the record's epoch, where they are known: the
// record's own, and those that volumes were stamped with.
func (s Situation) knownHistories() []string {
	rep := s.Status.Replication
	known := []string{rep.ReplID}
	for _, v := range s.Volumes {
		if v.Epoch <= rep.Epoch {
			known = append(known, v.ReplID)
		}
	}
	return known
}

// askAboutSuperseded asks a human about a recorded master that serves while others continued without it, if they
// are so many that another may have been promoted in its place, or if one of them has written since.
func (s Situation) askAboutSuperseded(master Node) (Step, bool) {
	went, wrote := s.processesThatContinued(master)
	switch {
	case len(went) == 0, !wrote && len(went) <= len(s.Status.Replication.SyncSet)-s.requiredConfirmations():
		return Step{}, false // too few: a failover fences more than that (see isSafe)
	case s.isUnsafeAllowed():
		return Step{Do: Fence, NodeNames: []string{master.Name}, Message: "others continued without it"}, true
	}
	return Step{Do: Block, RequeueAfter: 10 * ShortRequeue, Message: fmt.Sprintf(
		"%s serves, but %s continued with a history after its own, as after a restore of the API server. %s; to keep the data of %s instead, "+
			"delete the pods of the others named here",
		master.Name, strings.Join(NamesOf(went), ", "), s.howToAllow("To continue with what they have"), master.Name)}, true
}

// processesThatContinued are the processes that live on with a history after the master's own, or with one that
// no volume of the record's time knows, and whether any of them has written in it.
func (s Situation) processesThatContinued(master Node) (went []Node, wrote bool) {
	var later []string
	for _, m := range s.Nodes {
		if m.Answers() && m.Pinned && m.FormerReplID == master.ReplID && m.FormerReplID != "" {
			later = append(later, m.ReplID)
		}
	}
	known := append(s.knownHistories(), s.Status.Replication.FormerReplID, master.FormerReplID)
	for _, m := range s.Where(func(m Node) bool { return m.Answers() && m.Pinned && m.Name != master.Name }) {
		after := slices.Contains(later, m.ReplID)
		unknown := len(s.Volumes) > 0 && !after && !slices.Contains(known, m.ReplID)
		if after || unknown {
			went, wrote = append(went, m), wrote || unknown || m.Offset > m.FormerOffset
		}
	}
	return went, wrote
}

// askAboutStrayed asks a human which history to continue with: no offset says which of two is the later.
func (s Situation) askAboutStrayed(strayed []Node, evidence string) Step {
	if s.isUnsafeAllowed() {
		return Step{Do: Promote, NodeNames: []string{strayed[0].Name}, Reason: commonv1.ReasonRecordOutdated, Evidence: evidence, Unsafe: true}
	}
	return Step{Do: Block, RequeueAfter: 10 * ShortRequeue,
		Message: fmt.Sprintf("%s; %s continued with a history that the record does not know, as after a restore of the API server. %s",
			evidence, strings.Join(NamesOf(strayed), ", "), s.howToAllow("To continue with what "+strayed[0].Name+" has"))}
}
