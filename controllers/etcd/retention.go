package etcd

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
)

// settleClaims deletes the claims of members that etcd has removed, if storage.retention says so, and has all others owned as it says.
func (o *object) settleClaims(ctx context.Context, s membership.Situation, set *appsv1.StatefulSet) error {
	if o.cluster.Spec.Paused || o.cluster.Spec.Storage == nil || o.cluster.Status.Membership == nil || o.in.lost != nil ||
		volumes.OwnsClaims(set) {
		return nil
	}
	return o.SettleClaims(ctx, o.in.claims, o.claimRetention(s),
		func(ctx context.Context) error { return o.CheckUnchanged(ctx, o.cluster) },
		func(seen, next *corev1.PersistentVolumeClaim) error { return o.PatchClaim(ctx, seen, next) })
}

// deletesClaims reports whether storage.retention asks to delete the volumes that no member needs.
func deletesClaims(storage *databasev1alpha1.EtcdStorage) bool {
	return storage != nil && storage.Retention == databasev1alpha1.EtcdDelete
}

// claimRetention is what becomes of the claims of an EtcdCluster of which the operator sees that.
func (o *object) claimRetention(s membership.Situation) volumes.Retention {
	kind := databasev1alpha1.GroupVersion.WithKind("EtcdCluster")
	return volumes.Retention{
		Owner:    metav1.OwnerReference{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: o.cluster.Name, UID: o.cluster.UID},
		Deletes:  deletesClaims(o.cluster.Spec.Storage),
		HasPlace: s.HasPlace,
		IsUnneeded: func(pod string, claim *corev1.PersistentVolumeClaim) bool {
			return s.IsClaimUnneeded(pod, claim.Annotations[config.AnnotationData])
		},
	}
}
