package redis

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// growVolumes enlarges the claims first, then the StatefulSet, so that a storage class
// that cannot grow leaves everything as it is. A refusal by the API server is no
// failure of ours: its words are kept for the status.
func (r *Reconciler) growVolumes(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, set *appsv1.StatefulSet) error {
	var errs []error
	for _, name := range f.situation(redis).VolumeGrowth().ToRequest {
		seen := f.Volumes[name].Claim
		next := seen.DeepCopy()
		next.Spec.Resources.Requests[corev1.ResourceStorage] = f.spec.Storage.Size
		switch err := r.patchClaim(ctx, redis, seen, next); {
		case err == nil:
			f.Volumes[name] = topology.Volume{Stamp: f.Volumes[name].Stamp, Claim: next}
		case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
			f.GrowthRefusal = "storage.size: " + err.Error()
		default:
			errs = append(errs, fmt.Errorf("growing PersistentVolumeClaim %q: %w", seen.Name, err))
		}
	}
	if made, stands := madeFor(set); stands && len(errs) == 0 && f.situation(redis).HaveOutgrown(made) {
		errs = append(errs, r.orphanPods(ctx, set))
	}
	return errors.Join(errs...)
}

// orphanPods deletes the StatefulSet and leaves its pods running. The next
// pass creates it again, and it adopts them.
func (r *Reconciler) orphanPods(ctx context.Context, set *appsv1.StatefulSet) error {
	err := r.Delete(ctx, set, ctrlclient.Preconditions{UID: &set.UID, ResourceVersion: &set.ResourceVersion},
		ctrlclient.PropagationPolicy(metav1.DeletePropagationOrphan))
	if ctrlclient.IgnoreNotFound(err) != nil {
		return fmt.Errorf("making the StatefulSet anew for larger volumes: %w", err)
	}
	return nil
}

// madeFor returns the size of the volumes that a StatefulSet was made for, and whether it is there and has any.
func madeFor(set *appsv1.StatefulSet) (resource.Quantity, bool) {
	if len(set.Spec.VolumeClaimTemplates) == 0 || !set.DeletionTimestamp.IsZero() {
		return resource.Quantity{}, false
	}
	return set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage], true
}
