package memcached

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// seen is what stands; nothing in it is nil.
type seen struct {
	set     *appsv1.StatefulSet
	proxy   *appsv1.Deployment
	pods    []corev1.Pod // the nodes'
	proxies []corev1.Pod
	now     time.Time
}

// status says what was observed.
func status(m *cachev1alpha1.Memcached, s seen) cachev1alpha1.MemcachedStatus {
	set, late := s.set, stuck(m, s)
	next := cachev1alpha1.MemcachedStatus{
		Nodes:      readyNames(s.pods),
		Servers:    servers(m),
		Selector:   parts.SelectorText(kind, m.Name),
		Endpoint:   endpoint(m),
		Conditions: slices.Clone(m.Status.Conditions),
	}
	next.Replicas = set.Status.Replicas
	next.ReadyReplicas = set.Status.ReadyReplicas
	next.UpdatedReplicas = set.Status.UpdatedReplicas
	conditions.FromWorkload(&next.Conditions, m.Generation, conditions.Workload{
		Generation: set.Generation,
		Observed:   set.Status.ObservedGeneration,
		Want:       ptr.Deref(set.Spec.Replicas, size(m)),
		Minimum:    1,
		Updated:    set.Status.UpdatedReplicas,
		Ready:      set.Status.ReadyReplicas,
		Total:      set.Status.Replicas,
		Failing:    cmp.Or(conditions.Failing(slices.Concat(s.pods, s.proxies)), conditions.Unmade(s.proxy)),
		Starting:   starting(s, late),
		Stuck:      late,
		Front:      front(m, s.proxy),
	})
	conditions.Pause(&next.Conditions, m.Generation, m.Spec.Paused)
	return next
}

// starting says what is waited for. Why a StatefulSet cannot make a pod, its events say alone.
func starting(s seen, late bool) string {
	if why := conditions.Starting(slices.Concat(s.pods, s.proxies)); why != "" || !late {
		return why
	}
	return fmt.Sprintf("the events of StatefulSet %s and of the pods may say why", s.set.Name)
}

// front of the nodes is the proxy, or nothing.
func front(m *cachev1alpha1.Memcached, proxy *appsv1.Deployment) *conditions.Workload {
	if !proxied(m) {
		return nil
	}
	return &conditions.Workload{
		Generation: proxy.Generation,
		Observed:   proxy.Status.ObservedGeneration,
		Want:       ptr.Deref(proxy.Spec.Replicas, proxySize(m)),
		Minimum:    1,
		Updated:    proxy.Status.UpdatedReplicas,
		Ready:      proxy.Status.ReadyReplicas,
		Total:      proxy.Status.Replicas,
	}
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
