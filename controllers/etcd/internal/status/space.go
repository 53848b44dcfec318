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

// setSpaceLow warns before the quota is reached, by what is in use rather than by the size of the file, and until there is room again:
// also while the operator frees pages, or takes an alarm back that the next writes would raise again. Another problem comes first.
func setSpaceLow(list *[]metav1.Condition, in Inputs) {
	was := meta.FindStatusCondition(in.Cluster.Status.Conditions, commonv1.ConditionDegraded)
	isWarned := was != nil && was.Status == metav1.ConditionTrue && slices.Contains(spaceReasons, was.Reason)
	usage, limit := in.Situation.Fullest(), int64(membership.WarnFrom)
	if isWarned {
		limit = membership.WarnUntil
	}
	if meta.IsStatusConditionTrue(*list, commonv1.ConditionDegraded) || usage.Percent() < limit {
		return
	}
	if usage.Refused { // as when a human is asked, so that the repairs in between change nothing
		conditions.SetProblem(list, nil, in.Cluster.Generation,
			&conditions.Problem{Reason: commonv1.ReasonNoSpace, Message: usage.Explain(), NeedsHuman: true})
		return
	}
	conditions.Set(list, in.Cluster.Generation, commonv1.ConditionDegraded, true, commonv1.ReasonQuotaNearlyReached, usage.Explain())
}
