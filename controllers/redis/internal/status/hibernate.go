package status

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// setHibernating says how far hibernation is.
func setHibernating(list *[]metav1.Condition, generation int64, s topology.Situation, set *appsv1.StatefulSet) {
	say := func(conditionType string, status bool, reason, message string) {
		conditions.Set(list, generation, conditionType, status, reason, message)
	}
	left := set.Status.Replicas
	switch {
	case !s.Hibernate:
		return
	case !s.IsHibernated():
		const why = "spec.hibernate is true: the writes are being ended"
		say(commonv1.ConditionReady, false, commonv1.ReasonHibernating, why)
		say(commonv1.ConditionProgressing, true, commonv1.ReasonHibernating, why)
		return
	case left > 0 || set.Status.ObservedGeneration < set.Generation || set.Generation == 0:
		why := fmt.Sprintf("spec.hibernate is true: %d pods still to go", left)
		say(commonv1.ConditionReady, false, commonv1.ReasonHibernating, why)
		say(commonv1.ConditionProgressing, true, commonv1.ReasonHibernating, why)
	default:
		const why = "spec.hibernate is true: nothing runs, the volumes keep the data"
		say(commonv1.ConditionReady, true, commonv1.ReasonHibernated, why)
		say(commonv1.ConditionProgressing, false, commonv1.ReasonHibernated, why)
	}
	say(commonv1.ConditionAvailable, false, commonv1.ReasonHibernated, "spec.hibernate is true: no server accepts writes")
}
