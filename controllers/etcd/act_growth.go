package etcd

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
)

// growVolumes enlarges the claims first, then the StatefulSet, so that a storage class that cannot grow leaves everything as it
// is. It returns how far the volumes are.
func (r *Reconciler) growVolumes(
	ctx context.Context, e *databasev1alpha1.EtcdCluster, f *fleet, next membership.Step, in inputs,
) (volumes.Growth, error) {
	growth := growthOf(e, in.claims)
	if e.Spec.Paused || in.lost != nil { // then no StatefulSet would be made in its place
		return growth, nil
	}
	refusal, err := converge.EnlargeClaims(in.claims, growth, func(seen, next *corev1.PersistentVolumeClaim) error {
		return r.PatchClaim(ctx, seen, next)
	})
	growth = growthOf(e, in.claims)
	growth.Refusal = refusal
	made, stands := volumes.MadeFor(in.set)
	// The quota follows the size that the StatefulSet is made for, and must fit each volume.
	if stands && err == nil && growth.HaveOutgrown(made) && len(growth.Undersized) == 0 && f.situation(e).MayOrphanPods(next) {
		err = r.OrphanPods(ctx, in.set)
	}
	return growth, err
}

// growthOf tells how far the members' volumes are from storage.size. Those of former members do not matter.
func growthOf(e *databasev1alpha1.EtcdCluster, claims map[string]*corev1.PersistentVolumeClaim) volumes.Growth {
	if e.Spec.Storage == nil || e.Status.Membership == nil {
		return volumes.Growth{}
	}
	members := map[string]*corev1.PersistentVolumeClaim{}
	for _, one := range e.Status.Membership.Members {
		members[one.Name] = claims[one.Name]
	}
	return volumes.GrowthOf(members, e.Spec.Storage.Size)
}
