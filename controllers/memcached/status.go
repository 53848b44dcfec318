package memcached

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// status says what was observed. set is nil when the StatefulSet does not exist.
func status(m *cachev1alpha1.Memcached, set *appsv1.StatefulSet, pods []corev1.Pod) cachev1alpha1.MemcachedStatus {
	next := cachev1alpha1.MemcachedStatus{
		Nodes:      readyNames(pods),
		Servers:    servers(m),
		Selector:   parts.SelectorText(kind, m.Name),
		Endpoint:   endpoint(m),
		Conditions: slices.Clone(m.Status.Conditions),
	}
	if set == nil {
		set = &appsv1.StatefulSet{}
	}
	next.Replicas = set.Status.Replicas
	next.ReadyReplicas = set.Status.ReadyReplicas
	next.UpdatedReplicas = set.Status.UpdatedReplicas
	conditions.FromWorkload(&next.Conditions, m.Generation, conditions.Workload{
		Generation: set.Generation,
		Observed:   set.Status.ObservedGeneration,
		Want:       ptr.Deref(set.Spec.Replicas, size(m)),
		Minimum:    1,
		Updated:    updated(set),
		Ready:      set.Status.ReadyReplicas,
		Total:      set.Status.Replicas,
		Failing:    conditions.Failing(pods),
	})
	conditions.Pause(&next.Conditions, m.Generation, m.Spec.Paused)
	return next
}

// updated counts as the StatefulSet does, which stops counting once every pod
// is of the update revision.
func updated(set *appsv1.StatefulSet) int32 {
	if set.Status.UpdateRevision == set.Status.CurrentRevision {
		return set.Status.Replicas
	}
	return set.Status.UpdatedReplicas
}

// readyNames is never nil: the schema wants a list.
func readyNames(pods []corev1.Pod) []string {
	names := []string{}
	for i := range pods {
		if conditions.PodReady(&pods[i]) {
			names = append(names, pods[i].Name)
		}
	}
	slices.Sort(names)
	return names
}
