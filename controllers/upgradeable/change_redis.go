package upgradeable

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// The changes of a Redis that hold an upgrade.
const (
	// noMaster means that no server accepts writes until the operator has made a master.
	noMaster = "no master"
	// severalMasters means that the wrong node takes writes, which will be lost, until it is fenced.
	severalMasters = "several nodes take writes"
	// changingMaster means that the next master is chosen, or made and not yet reached by clients.
	changingMaster = "the master is changing"
	// hibernating means that writes are being ended and not all of them are known to be kept.
	hibernating = "its writes are being ended"
	// scalingIn means that nodes which go may hold what confirms a write.
	scalingIn = "scaling in"
	// joiningNodes means that a server has started: it follows no master until the operator asks it to, and counts for a
	// failover only then.
	joiningNodes = "nodes are joining"
	// replacingPods means that some pods are of the old template and some of the new, and one is away.
	replacingPods = "pods are being replaced"
)

// redisChange returns the change of a Redis that is under way by its status, or "" if there is none. A change of passwords,
// certificates or settings does not count: the servers accept both the old and the new until all have them.
func redisChange(r *cachev1alpha1.Redis) string {
	rep, last := r.Status.Replication, r.Status.LastFailover
	switch {
	case !r.DeletionTimestamp.IsZero() || r.Spec.Paused || needsHuman(r):
		return "" // the upgrade may be what is needed
	case rep == nil && (r.Spec.Hibernate || degradedReason(r) != ""):
		return "" // its pods go by themselves, or do not start
	case rep == nil:
		return noMaster
	case hasCondition(r, commonv1.ConditionSplitBrain, metav1.ConditionTrue, commonv1.ReasonSeveralMasters):
		return severalMasters
	case rep.Epoch < r.Status.Epoch, last != nil && last.RoutedAt == nil && last.To == r.Status.Master:
		return changingMaster
	case r.Spec.Hibernate:
		return hibernating
	case hasCondition(r, commonv1.ConditionAvailable, metav1.ConditionFalse, commonv1.ReasonNoMaster):
		return noMaster
	}
	return nodeChange(r)
}

// nodeChange returns the change of the nodes other than a serving master that is under way.
func nodeChange(r *cachev1alpha1.Redis) string {
	switch {
	case degradedReason(r) != "":
		return "" // it may wait for a human as long as it likes
	case r.Spec.Size != nil && len(r.Status.Nodes) > int(*r.Spec.Size):
		return scalingIn
	case slices.ContainsFunc(r.Status.Nodes, isJoining):
		return joiningNodes
	case hasCondition(r, commonv1.ConditionReady, metav1.ConditionFalse, commonv1.ReasonRollingOut) && !isSupervised(r):
		return replacingPods
	}
	return ""
}

// isJoining reports whether a server runs and has not yet taken its place.
func isJoining(n cachev1alpha1.RedisNode) bool {
	return n.State == cachev1alpha1.RedisFenced || n.State == cachev1alpha1.RedisSyncing || n.State == cachev1alpha1.RedisLoading
}

// needsHuman reports whether the Redis continues only when somebody has decided, or has fixed what keeps the operator
// from its servers.
func needsHuman(r *cachev1alpha1.Redis) bool {
	reason := degradedReason(r)
	switch reason {
	case commonv1.ReasonPromotionBlocked, commonv1.ReasonSeveralMasters, commonv1.ReasonOperatorCannotReachPods, commonv1.ReasonLockedOut:
		return true
	}
	return false
}

// isSupervised reports whether a human says when the master's pod is replaced.
func isSupervised(r *cachev1alpha1.Redis) bool {
	return r.Spec.Update != nil && r.Spec.Update.Strategy == cachev1alpha1.RedisSupervised
}

// degradedReason returns why the Redis is degraded, or "" if it is not.
func degradedReason(r *cachev1alpha1.Redis) string {
	if c := meta.FindStatusCondition(r.Status.Conditions, commonv1.ConditionDegraded); c != nil && c.Status == metav1.ConditionTrue {
		return c.Reason
	}
	return ""
}

func hasCondition(r *cachev1alpha1.Redis, kind string, status metav1.ConditionStatus, reason string) bool {
	c := meta.FindStatusCondition(r.Status.Conditions, kind)
	return c != nil && c.Status == status && c.Reason == reason
}
