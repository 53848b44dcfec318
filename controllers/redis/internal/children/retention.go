package children

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// filesRecheck is how soon claims are looked at again that cannot be deleted while servers write their files: the end of that is no
// event of the API server.
const filesRecheck = 10 * time.Second

// RecheckClaims returns filesRecheck if claims of nodes that have left wait for servers that write their files, and 0 otherwise.
func RecheckClaims(redis *cachev1alpha1.Redis, s topology.Situation) time.Duration {
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

// ClaimRetention is what becomes of the claims of a Redis, whose StatefulSet was seen like that.
func ClaimRetention(redis *cachev1alpha1.Redis, s topology.Situation, set *appsv1.StatefulSet) volumes.Retention {
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
