package membership

import (
	"fmt"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

// recoverBelow continues from an earlier revision than a human has allowed, once one allows that, too. The launcher has refused to
// serve from it. The members that are given up are those of the recovery that is under way.
func (s Situation) recoverBelow(m Member) Step {
	var allowed databasev1alpha1.EtcdRecovery
	if s.Status.LastRecovery != nil {
		allowed = *s.Status.LastRecovery
	}
	token := tokenOf(s.Status.Membership.ClusterID, s.recovery(), fmt.Sprint(m.Pod.RecoveredTo))
	if s.AllowedRecovery == token {
		return Step{Do: Recover, Member: m.Name, Lost: allowed.Lost, Message: "a human has allowed it"}
	}
	return Step{Do: Block, Reason: commonv1.ReasonQuorumLost, Message: fmt.Sprintf(
		"the data of %s, from which the cluster was to continue at revision %d, ends at revision %d: its log does not show that later "+
			"writes were confirmed, and etcd has dropped them. If a backup is of a later revision, restore it by an EtcdRestore. To "+
			"continue from revision %d without the later writes, annotate this object with %s=%s",
		m.Name, allowed.Revision, m.Pod.RecoveredTo, m.Pod.RecoveredTo, databasev1alpha1.EtcdAllowUnsafeRecovery, token)}
}
