package etcd

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

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
		o.checkRetention,
		func(seen, next *corev1.PersistentVolumeClaim) error { return o.PatchClaim(ctx, seen, next) })
}

// checkRetention asks the API server whether the spec is still the one that asks to delete volumes: the cache may be behind.
func (o *object) checkRetention(ctx context.Context) error {
	live := &databasev1alpha1.EtcdCluster{}
	if err := o.APIReader.Get(ctx, ctrlclient.ObjectKeyFromObject(o.cluster), live); err != nil {
		return fmt.Errorf("reading the object: %w", err)
	}
	if live.UID != o.cluster.UID || live.Generation != o.cluster.Generation || !deletesClaims(live.Spec.Storage) {
		return apierrors.NewConflict(databasev1alpha1.GroupVersion.WithResource("etcdclusters").GroupResource(), o.cluster.Name,
			errors.New("the cache is behind"))
	}
	return nil
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
