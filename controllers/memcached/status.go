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

// world is what one pass saw; neither set nor proxy is nil.
type world struct {
	set     *appsv1.StatefulSet
	proxy   *appsv1.Deployment
	pods    []corev1.Pod // the nodes'
	proxies []corev1.Pod
	refusal string // why nodes' pods are refused; empty if they are not
	// usersUnusable and certificateUnusable are the problems with the user's Secrets while what they had before serves.
	usersUnusable, certificateUnusable *conditions.Problem
	now                                time.Time
}

// status returns the status that follows from what a pass saw.
func status(m *cachev1alpha1.Memcached, w world) cachev1alpha1.MemcachedStatus {
	set, late := w.set, isStuck(m, w)
	next := cachev1alpha1.MemcachedStatus{
		Nodes:      readyPodNames(w.pods),
		Servers:    servers(m),
		Selector:   parts.SelectorString(appName, m.Name),
		Endpoint:   endpoint(m),
		Conditions: slices.Clone(m.Status.Conditions),
	}
	next.Replicas = set.Status.Replicas
	next.ReadyReplicas = set.Status.ReadyReplicas
	next.UpdatedReplicas = set.Status.UpdatedReplicas
	workload := conditions.Workload{
		Generation:         set.Generation,
		ObservedGeneration: set.Status.ObservedGeneration,
		Desired:            ptr.Deref(set.Spec.Replicas, size(m)),
		MinReady:           1,
		Updated:            set.Status.UpdatedReplicas,
		Ready:              set.Status.ReadyReplicas,
		Total:              set.Status.Replicas,
		Failure: cmp.Or(conditions.FirstFailure(slices.Concat(w.pods, w.proxies)), w.refusal,
			conditions.ReplicaFailure(w.proxy, "spec.proxy.resources")),
		StartupWait:      pendingReason(w, late),
		DeadlineExceeded: late,
		Frontend:         proxyWorkload(m, w.proxy),
	}
	conditions.SetFromWorkload(&next.Conditions, m.Generation, workload)
	conditions.SetDegraded(&next.Conditions, m.Generation,
		w.usersUnusable, w.certificateUnusable, workload.PodFailing(m.Status.Conditions), workload.Overdue())
	conditions.SetPaused(&next.Conditions, m.Generation, m.Spec.Paused)
	return next
}

// pendingReason says what the nodes wait for.
func pendingReason(w world, late bool) string {
	if why := conditions.FirstStartupWait(slices.Concat(w.pods, w.proxies)); why != "" || !late {
		return why
	}
	return fmt.Sprintf("the events of StatefulSet %s and of the pods may say why", w.set.Name)
}

// proxyWorkload is the proxy as the conditions see it; nil when there is none.
func proxyWorkload(m *cachev1alpha1.Memcached, proxy *appsv1.Deployment) *conditions.Workload {
	if !hasProxy(m) {
		return nil
	}
	return &conditions.Workload{
		Generation:         proxy.Generation,
		ObservedGeneration: proxy.Status.ObservedGeneration,
		Desired:            ptr.Deref(proxy.Spec.Replicas, proxySize(m)),
		MinReady:           1,
		Updated:            proxy.Status.UpdatedReplicas,
		Ready:              proxy.Status.ReadyReplicas,
		Total:              proxy.Status.Replicas,
	}
}

// readyPodNames returns a sorted list that is never nil: the schema wants a list.
func readyPodNames(pods []corev1.Pod) []string {
	names := []string{}
	for i := range pods {
		if conditions.IsPodReady(&pods[i]) {
			names = append(names, pods[i].Name)
		}
	}
	slices.Sort(names)
	return names
}
