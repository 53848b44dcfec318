package backup

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once"
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
		if err := once.Delete(ctx, r, &pods[i]); err != nil {
			return fmt.Errorf("deleting pod %q, whose attempt has ended: %w", pods[i].Name, err)
		}
	}
	return nil
}
