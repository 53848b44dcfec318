package redis

import (
	"cmp"
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/children"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// settleClaims has the claims owned or deleted as storage.retention says, once the StatefulSet deletes none itself.
func (p *pass) settleClaims(ctx context.Context) error {
	written, _ := converge.Find[*appsv1.StatefulSet](p.observed, "StatefulSet", p.Redis.Name)
	set := cmp.Or(written, p.Set)
	if p.Redis.Spec.Storage == nil || volumes.OwnsClaims(set) {
		return nil
	}
	claims := topology.ClaimsOf(p.Volumes)
	err := p.SettleClaims(ctx, claims, children.ClaimRetention(p.Redis, p.Situation(), set), p.effects.CheckUnchanged,
		func(seen, next *corev1.PersistentVolumeClaim) error { return p.patchClaim(ctx, seen, next) })
	for name, claim := range claims {
		p.Volumes[name] = topology.Volume{Stamp: p.Volumes[name].Stamp, Claim: claim}
	}
	return err
}
