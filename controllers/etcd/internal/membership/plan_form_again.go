package membership

import (
	"fmt"
	"slices"
	"strings"
	"time"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

// firstRevision is that of a server without any key: etcd counts from there (server/storage/mvcc, NewStore).
const firstRevision = 1

// formAgain starts a cluster once more that was not seen to form, if so many of its first members have lost their data that the
// others cannot form it. The record does not say whether the members had met: the operator may have been away, and clients may
// have written meanwhile. So it is done without asking only if no member that is left has a key. Once the IDs are recorded, this
// never happens again.
func (s Situation) formAgain() (Step, bool) {
	record := s.Status.Membership
	if record.ClusterID != "" || s.ClusterID != 0 {
		return Step{}, false
	}
	members := s.Where(func(m Member) bool { return m.Record != nil })
	lost := s.Where(s.hasLostData)
	if len(members)-len(lost) > len(members)/2 {
		return Step{}, false
	}
	left := slices.DeleteFunc(members, s.hasLostData)
	silent := slices.DeleteFunc(slices.Clone(left), func(m Member) bool { return m.showsItsData() || m.neverStarted() })
	if len(silent) > 0 {
		return Step{Do: Block, Reason: commonv1.ReasonDataLost, RequeueAfter: time.Second, Message: fmt.Sprintf(
			"%s have lost their data before the cluster was seen to form, and %s cannot form it alone; it is formed again once the pods of %s run "+
				"and say that they have no data. If they never will, delete their PersistentVolumeClaims and pods",
			strings.Join(NamesOf(lost), ", "), strings.Join(NamesOf(left), ", "), strings.Join(NamesOf(silent), ", "))}, true
	}
	holding := slices.DeleteFunc(slices.Clone(left), func(m Member) bool { return m.View.Revision <= firstRevision })
	if len(holding) == 0 {
		next := s.form()
		if next.Do == Form {
			next.Lost, next.Message = NamesOf(left), "the cluster was not seen to form, and no member has any data"
		}
		return next, true
	}
	if token := s.recoveryToken(lost, left); s.AllowedRecovery != token {
		return Step{Do: Block, Reason: commonv1.ReasonQuorumLost, Message: fmt.Sprintf(
			"%s have lost their data before the cluster was seen to form, and with it the majority; %s has data, revision %d: copy its "+
				"member/snap/db, which can be restored into a new EtcdCluster. To form this one again without any data, annotate this object with "+
				"%s=%s",
			strings.Join(NamesOf(lost), ", "), holding[0].Name, holding[0].View.Revision, databasev1alpha1.EtcdAllowUnsafeRecovery, token)}, true
	}
	return s.form(), true
}

// neverStarted reports whether a member has no data anywhere: no pod was recorded to start it, or that one is still there and provably
// never ran.
func (m Member) neverStarted() bool {
	return m.Record.StartedBy == "" || m.Record.StartedBy == m.Pod.UID && m.podHasNoData()
}
