package status

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

// spaceReasons are those with which a human is asked to make room.
var spaceReasons = []string{commonv1.ReasonNoSpace, commonv1.ReasonQuotaNearlyReached}

// quotaExceeded asks a human to make room, also while the operator frees pages, or takes an alarm back that the next writes would
// raise again: the repairs in between change nothing.
func (i Inputs) quotaExceeded() *conditions.Problem {
	if usage := i.Situation.Fullest(); usage.Refused && i.isLow(usage) {
		return &conditions.Problem{Reason: commonv1.ReasonNoSpace, Message: usage.Explain()}
	}
	return nil
}

// quotaNearlyReached warns before the quota is reached.
func (i Inputs) quotaNearlyReached() *conditions.Problem {
	if usage := i.Situation.Fullest(); i.isLow(usage) {
		return &conditions.Problem{Reason: commonv1.ReasonQuotaNearlyReached, Message: usage.Explain()}
	}
	return nil
}

// isLow reports whether a human is to know how much of the quota is in use. That counts rather than the size of the file. Once it was
// reported, it is until there is room again.
func (i Inputs) isLow(usage membership.Usage) bool {
	was := meta.FindStatusCondition(i.Cluster.Status.Conditions, commonv1.ConditionDegraded)
	limit := int64(membership.WarnFrom)
	if was != nil && was.Status == metav1.ConditionTrue && slices.Contains(spaceReasons, was.Reason) {
		limit = membership.WarnUntil
	}
	return usage.Percent() >= limit
}
