package upgradeable

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

// The changes of an EtcdCluster that hold an upgrade.
const (
	// forming means that no server accepts writes until the operator has let the members start.
	forming = "it is forming"
	// recovering means that no server accepts writes until the operator has started a cluster of one.
	recovering = "it recovers from a lost majority"
	// changingMembers means that a member is added or removed, or does not count for the majority until it is promoted.
	changingMembers = "members are changing"
)

// etcdChange returns the change of an EtcdCluster that is under way by its status, or "" if there is none. Besides these, a
// majority serves without the operator: between two pods of a rollout, and between two minor versions.
func etcdChange(e *databasev1alpha1.EtcdCluster) string {
	record, degraded := e.Status.Membership, meta.IsStatusConditionTrue(e.Status.Conditions, commonv1.ConditionDegraded)
	switch {
	case !e.DeletionTimestamp.IsZero() || e.Spec.Paused || degraded:
		return "" // the upgrade may be what is needed
	case record != nil && record.Change != nil && record.Change.Type == databasev1alpha1.EtcdRecover:
		return recovering
	case record == nil || record.ClusterID == "":
		return forming
	case record.Change != nil || slices.ContainsFunc(e.Status.Members, isLearner):
		return changingMembers
	}
	return ""
}

// isLearner reports whether a member waits to be promoted, which the operator alone does.
func isLearner(m databasev1alpha1.EtcdMember) bool { return m.Role == databasev1alpha1.EtcdLearner }
