package builders

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// FullPodOptions sets every option of a pod. The samples of the integration tests have them, and each object of test/releases whose
// name is full.
func FullPodOptions() commonv1.PodOptions {
	return commonv1.PodOptions{
		ImagePullPolicy:               corev1.PullAlways,
		ImagePullSecrets:              []corev1.LocalObjectReference{{Name: "registry"}},
		PodLabels:                     map[string]string{"team": "a"},
		PodAnnotations:                map[string]string{"note": "b"},
		TerminationGracePeriodSeconds: ptr.To(int64(7)),
		Scheduling: commonv1.Scheduling{
			PriorityClassName: "system-cluster-critical", // one that is always there
			NodeSelector:      map[string]string{"disk": "fast"},
			Tolerations:       []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}},
			Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
					Weight: 1, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
						{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{"fast"}},
					}},
				}},
			}},
			TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
				MaxSkew: 2, TopologyKey: "rack", WhenUnsatisfiable: corev1.ScheduleAnyway,
			}},
		},
	}
}
