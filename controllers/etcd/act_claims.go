package etcd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// settleClaims deletes the claims of members that etcd has removed, if storage.retention says so, and has all others owned as it says.
// It comes after the StatefulSet was written, which gives claims an owner while its own policy is Delete.
func (r *Reconciler) settleClaims(ctx context.Context, e *databasev1alpha1.EtcdCluster, f *fleet, in inputs, set *appsv1.StatefulSet) error {
	if e.Spec.Paused || e.Spec.Storage == nil || e.Status.Membership == nil || in.lost != nil || ownsClaims(set) {
		return nil
	}
	var errs []error
	for _, pod := range slices.Sorted(maps.Keys(in.claims)) {
		claim, err := in.claims[pod], error(nil)
		if converge.IsTrimmed(claim) { // the cache does not have its owners
			claim = &corev1.PersistentVolumeClaim{}
			err = r.Get(ctx, ctrlclient.ObjectKeyFromObject(in.claims[pod]), claim)
		}
		switch {
		case err != nil:
			err = ctrlclient.IgnoreNotFound(err)
		case isUnneeded(e, f.World, claim, pod):
			err = r.deleteClaim(ctx, claim)
		case claim.DeletionTimestamp.IsZero():
			in.claims[pod], err = r.setOwners(ctx, claim, claimOwners(e, claim, pod))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// setOwners writes the owners of a claim where they differ, and returns the claim as it is then.
func (r *Reconciler) setOwners(ctx context.Context, claim *corev1.PersistentVolumeClaim, owners []metav1.OwnerReference) (*corev1.PersistentVolumeClaim, error) {
	if equality.Semantic.DeepEqual(owners, claim.OwnerReferences) {
		return claim, nil
	}
	next := claim.DeepCopy()
	next.OwnerReferences = owners
	if err := r.PatchClaim(ctx, claim, next); err != nil {
		return claim, fmt.Errorf("setting the owners of PersistentVolumeClaim %q: %w", claim.Name, err)
	}
	return next, nil
}

// deleteClaim deletes exactly the claim that was looked at.
func (r *Reconciler) deleteClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	log.FromContext(ctx).Info("deleting the PersistentVolumeClaim of a member that etcd has removed", "claim", claim.Name, "uid", claim.UID)
	gone := &corev1.PersistentVolumeClaim{}
	gone.Namespace, gone.Name = claim.Namespace, claim.Name
	err := r.Delete(ctx, gone, ctrlclient.Preconditions{UID: &claim.UID})
	if ctrlclient.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting PersistentVolumeClaim %q of a removed member: %w", claim.Name, err)
	}
	return nil
}

// ownsClaims reports whether the StatefulSet's own policy still deletes claims: its controller would put back what is taken from them.
func ownsClaims(set *appsv1.StatefulSet) bool {
	const deletes = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	policy := set.Spec.PersistentVolumeClaimRetentionPolicy
	return policy != nil && (policy.WhenDeleted == deletes || policy.WhenScaled == deletes)
}
