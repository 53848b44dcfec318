package etcd

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
)

// growVolumes enlarges the claims first, then the StatefulSet, so that a storage class that cannot grow leaves everything as it
// is. It returns how far the volumes are.
func (p *pass) growVolumes(ctx context.Context) (volumes.Growth, error) {
	growth := p.volumeGrowth()
	if p.cluster.Spec.Paused || p.in.lost != nil { // then no StatefulSet would be made in its place
		return growth, nil
	}
	refusal, err := converge.EnlargeClaims(p.in.claims, growth, func(seen, next *corev1.PersistentVolumeClaim) error {
		return p.PatchClaim(ctx, seen, next)
	})
	growth = p.volumeGrowth()
	growth.Refusal = refusal
	made, stands := volumes.MadeFor(p.in.set)
	// The quota follows the size that the StatefulSet is made for, and must fit each volume.
	if stands && err == nil && growth.HaveOutgrown(made) && len(growth.Undersized) == 0 && p.situation().MayOrphanPods(p.step) {
		err = p.OrphanPods(ctx, p.in.set)
	}
	return growth, err
}

// volumeGrowth is how far the members' volumes are from storage.size. Those of former members do not matter.
func (p *pass) volumeGrowth() volumes.Growth {
	if p.cluster.Spec.Storage == nil || p.cluster.Status.Membership == nil {
		return volumes.Growth{}
	}
	members := map[string]*corev1.PersistentVolumeClaim{}
	for _, member := range p.cluster.Status.Membership.Members {
		members[member.Name] = p.in.claims[member.Name]
	}
	return volumes.GrowthOf(members, p.cluster.Spec.Storage.Size)
}
