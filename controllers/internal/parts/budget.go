package parts

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// DisruptionBudget returns the only PodDisruptionBudget of a set. Unready pods may be evicted at any time when the
// kind keeps no state in them.
func DisruptionBudget(appName, instance string, chosen *commonv1.Disruption,
	unready policyv1.UnhealthyPodEvictionPolicyType) *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	most := intstr.FromInt32(1)
	if chosen != nil && chosen.MaxUnavailable != nil {
		most = *chosen.MaxUnavailable
	}
	return policyv1ac.PodDisruptionBudget(instance, "").
		WithLabels(Labels(appName, instance)).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().
			WithMaxUnavailable(most).
			WithSelector(LabelSelector(appName, instance)).
			WithUnhealthyPodEvictionPolicy(unready))
}
