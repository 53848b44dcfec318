package conditions

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// ReplicaFailure says in the server's words why pods of a Deployment cannot be created, because of a quota, say; "" if
// they can. field is where the spec has the pods' resources.
func ReplicaFailure(d *appsv1.Deployment, field string) string {
	at := slices.IndexFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue
	})
	if at < 0 {
		return ""
	}
	return RefusalMessage(d.Status.Conditions[at].Message, field)
}
