package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// setRestoring reports how far the loading of a backup is.
func setRestoring(list *[]metav1.Condition, generation int64, s topology.Situation, next topology.Step) {
	if !s.IsRestoring() || s.IsHibernated() {
		return
	}
	message := "spec.bootstrap.backup is to be loaded"
	if next.Message != "" {
		message += ": " + next.Message
	}
	conditions.Set(list, generation, commonv1.ConditionProgressing, true, commonv1.ReasonRestoring, message)
	conditions.Set(list, generation, commonv1.ConditionReady, false, commonv1.ReasonRestoring, message)
}
