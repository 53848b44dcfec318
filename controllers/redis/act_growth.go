package redis

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// growVolumes enlarges the claims first, then the StatefulSet, so that a storage class
// that cannot grow leaves everything as it is.
func (r *Reconciler) growVolumes(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, set *appsv1.StatefulSet) error {
	claims := topology.ClaimsOf(f.Volumes)
	refusal, err := converge.EnlargeClaims(claims, f.situation(redis).VolumeGrowth(), func(seen, next *corev1.PersistentVolumeClaim) error {
		return r.patchClaim(ctx, redis, seen, next)
	})
	f.GrowthRefusal = refusal
	for name, claim := range claims {
		f.Volumes[name] = topology.Volume{Stamp: f.Volumes[name].Stamp, Claim: claim}
	}
	if made, stands := volumes.MadeFor(set); stands && err == nil && f.situation(redis).HaveOutgrown(made) {
		err = errors.Join(err, r.OrphanPods(ctx, set))
	}
	return err
}
