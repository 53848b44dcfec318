// Package once runs the pod of an attempt at most once, whatever happens to the operator between any two calls, because
//
//   - the attempt is in the status, with the name of its pod, before the pod is created;
//   - the pod is created with a scheduling gate, and the gate is removed only from the pod whose UID the status already holds;
//   - a UID, once in the status, is never replaced: every write of the status is refused when it was made from an older one.
//
// So a pod that a lost response, a stale cache or a stopped leader made once too often stays behind its gate until it is deleted.
//
// Next decides, and takes values only. The kind has the loop, writes the status, says what an attempt is, when it has ended, and when
// the next one follows.
package once

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// Live reads the attempt's pod at the API server, and returns nil when there is none.
func (a Attempt) Live(ctx context.Context, r client.Reader, namespace string) (*corev1.Pod, error) {
	var pod corev1.Pod
	if err := r.Get(ctx, types.NamespacedName{Namespace: namespace, Name: a.PodName}, &pod); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return &pod, nil
}

// RemoveGate lets the pod start.
func RemoveGate(ctx context.Context, c *converge.Converger, pod *corev1.Pod) error {
	return Patch(ctx, c, pod, func(p *corev1.Pod) { p.Spec.SchedulingGates = slices.DeleteFunc(p.Spec.SchedulingGates, isOurs) })
}

// Patch changes exactly the pod that was looked at, or nothing. Of a large pod, the cache may lack others' finalizers and
// gates, which a patch of the list would remove: it is read live.
func Patch(ctx context.Context, c *converge.Converger, pod *corev1.Pod, edit func(*corev1.Pod)) error {
	if converge.IsTrimmed(pod) {
		live := &corev1.Pod{}
		if err := c.APIReader.Get(ctx, client.ObjectKeyFromObject(pod), live); err != nil || live.UID != pod.UID {
			return client.IgnoreNotFound(err)
		}
		*pod = *live
	}
	base := pod.DeepCopy()
	edit(pod)
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(c.Patch(ctx, pod, patch, client.FieldOwner(converge.FieldManager)))
}

// Delete deletes exactly the object that was looked at, or nothing.
func Delete(ctx context.Context, w client.Writer, obj client.Object) error {
	return client.IgnoreNotFound(w.Delete(ctx, obj, client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{
		UID: ptr.To(obj.GetUID()), ResourceVersion: ptr.To(obj.GetResourceVersion()),
	}))
}

// ReplaceCached replaces the cached copy of a pod with the pod as it was last seen.
func ReplaceCached(pods []corev1.Pod, live *corev1.Pod) []corev1.Pod {
	if live == nil {
		return pods
	}
	others := slices.DeleteFunc(slices.Clone(pods), func(p corev1.Pod) bool { return p.Name == live.Name })
	return append(others, *live)
}
