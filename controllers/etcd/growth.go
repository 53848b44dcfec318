package etcd

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
)

// growVolumes enlarges the claims first, then the StatefulSet, so that a storage class that cannot grow leaves everything as it
// is. The StatefulSet is recreated around its pods if it may leave them alone meanwhile. It returns how far the volumes are.
func (o *object) growVolumes(ctx context.Context, mayOrphanPods bool) (volumes.Growth, error) {
	growth := o.volumeGrowth()
	if o.cluster.Spec.Paused || o.in.lost != nil { // then no StatefulSet would be made in its place
		return growth, nil
	}
	refusal, err := converge.EnlargeClaims(o.in.claims, growth, func(seen, next *corev1.PersistentVolumeClaim) error {
		return o.PatchClaim(ctx, seen, next)
	})
	growth = o.volumeGrowth()
	growth.Refusal = refusal
	made, ok := volumes.MadeFor(o.in.set)
	// The quota follows the size that the StatefulSet is made for, and must fit each volume.
	if ok && err == nil && growth.HaveOutgrown(made) && len(growth.Undersized) == 0 && mayOrphanPods {
		err = o.OrphanPods(ctx, o.cluster, o.in.set)
	}
	return growth, err
}

// volumeGrowth is how far the members' volumes are from storage.size. Those of former members do not matter.
func (o *object) volumeGrowth() volumes.Growth {
	if o.cluster.Spec.Storage == nil || o.cluster.Status.Membership == nil {
		return volumes.Growth{}
	}
	members := map[string]*corev1.PersistentVolumeClaim{}
	for _, member := range o.cluster.Status.Membership.Members {
		members[member.Name] = o.in.claims[member.Name]
	}
	return volumes.GrowthOf(members, o.cluster.Spec.Storage.Size)
}
