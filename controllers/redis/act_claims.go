package redis

import (
	"cmp"
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// filesRecheck is how soon claims are looked at again that cannot be deleted while servers write their files: the end of that is no
// event of the API server.
const filesRecheck = 10 * time.Second

// settleClaims has the claims owned or deleted as storage.retention says, once the StatefulSet deletes none itself.
func (p *pass) settleClaims(ctx context.Context) error {
	written, _ := converge.Find[*appsv1.StatefulSet](p.observed, "StatefulSet", p.redis.Name)
	set := cmp.Or(written, p.set)
	if p.redis.Spec.Storage == nil || volumes.OwnsClaims(set) {
		return nil
	}
	claims := topology.ClaimsOf(p.Volumes)
	err := p.SettleClaims(ctx, claims, claimRetention(p.redis, p.situation(), set), p.checkUnchanged,
		func(seen, next *corev1.PersistentVolumeClaim) error { return p.patchClaim(ctx, seen, next) })
	for name, claim := range claims {
		p.Volumes[name] = topology.Volume{Stamp: p.Volumes[name].Stamp, Claim: claim}
	}
	return err
}

// recheckClaims returns filesRecheck if claims of nodes that have left wait for servers that write their files, and 0 otherwise.
func recheckClaims(redis *cachev1alpha1.Redis, s topology.Situation) time.Duration {
	if redis.Spec.Storage == nil || redis.Spec.Storage.Retention != cachev1alpha1.RedisDelete || !s.IsWritingFiles() {
		return 0
	}
	for name := range s.Volumes {
		if !s.HasPlace(name) {
			return filesRecheck
		}
	}
	return 0
}

// claimRetention is what becomes of the claims of a Redis, whose StatefulSet was seen like that.
func claimRetention(redis *cachev1alpha1.Redis, s topology.Situation, set *appsv1.StatefulSet) volumes.Retention {
	kind := cachev1alpha1.GroupVersion.WithKind("Redis")
	return volumes.Retention{
		Owner:    metav1.OwnerReference{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: redis.Name, UID: redis.UID},
		Deletes:  redis.Spec.Storage.Retention == cachev1alpha1.RedisDelete,
		HasPlace: s.HasPlace,
		IsUnneeded: func(node string, _ *corev1.PersistentVolumeClaim) bool {
			return makesNoPod(set, node) && s.IsVolumeUnneeded(node)
		},
	}
}

// makesNoPod reports whether the StatefulSet's controller knows that it is to make no pod of that name.
func makesNoPod(set *appsv1.StatefulSet, node string) bool {
	return ptr.Deref(set.Spec.Replicas, 1) <= config.Ordinal(node) && set.Status.ObservedGeneration >= set.Generation
}
