package redis

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// growVolumes enlarges the claims first, then the StatefulSet, so that a storage class
// that cannot grow leaves everything as it is.
func (p *pass) growVolumes(ctx context.Context) error {
	claims := topology.ClaimsOf(p.Volumes)
	refusal, err := converge.EnlargeClaims(claims, p.Situation().VolumeGrowth(), func(seen, next *corev1.PersistentVolumeClaim) error {
		return p.patchClaim(ctx, seen, next)
	})
	p.GrowthRefusal = refusal
	for name, claim := range claims {
		p.Volumes[name] = topology.Volume{Stamp: p.Volumes[name].Stamp, Claim: claim}
	}
	if made, ok := volumes.MadeFor(p.Set); ok && err == nil && p.Situation().HaveOutgrown(made) {
		err = errors.Join(err, p.OrphanPods(ctx, p.Redis, p.Set))
	}
	return err
}
