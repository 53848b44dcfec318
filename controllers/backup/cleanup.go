package backup

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// cleanUp deletes the pods of ended attempts, and those that were created once too often: their results are in the status. It reads the
// object live, as a cache may not know the attempt under way.
func (r *Reconciler) cleanUp(ctx context.Context, b Object, pods []corev1.Pod) error {
	var live Object
	for i := range pods {
		if !isObsolete(b, &pods[i]) {
			continue
		}
		if live == nil {
			live = r.Kind.newObject().(Object)
			if err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(b), live); err != nil {
				return client.IgnoreNotFound(err)
			}
		}
		if !isObsolete(live, &pods[i]) {
			continue
		}
		if err := r.deletePod(ctx, &pods[i]); err != nil {
			return fmt.Errorf("deleting pod %q, whose attempt has ended: %w", pods[i].Name, err)
		}
	}
	return nil
}

// deletePod deletes exactly the pod that was looked at, or nothing.
func (r *Reconciler) deletePod(ctx context.Context, pod *corev1.Pod) error {
	return client.IgnoreNotFound(r.Delete(ctx, pod, client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{
		UID: ptr.To(pod.UID), ResourceVersion: ptr.To(pod.ResourceVersion),
	}))
}

// replaceCached replaces the cached copy of a pod with the pod as it was last seen.
func replaceCached(pods []corev1.Pod, live *corev1.Pod) []corev1.Pod {
	if live == nil {
		return pods
	}
	list := []corev1.Pod{*live}
	for _, p := range pods {
		if p.Name != live.Name {
			list = append(list, p)
		}
	}
	return list
}
