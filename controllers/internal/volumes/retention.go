package volumes

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
)

// Retention is what storage.retention asks for, and what the object's kind knows of its nodes.
type Retention struct {
	// Owner is the object, as a claim names it.
	Owner metav1.OwnerReference
	// Deletes reports whether storage.retention is Delete.
	Deletes bool
	// HasPlace reports whether there is, or may soon be, a pod of that name.
	HasPlace func(pod string) bool
	// IsUnneeded reports whether the node of that name has left in good order, so that no data is lost with its volume. It is asked
	// only about a pod without a place.
	IsUnneeded func(pod string, claim *corev1.PersistentVolumeClaim) bool
}

// RetentionPolicy has the StatefulSet delete no claim, whatever storage.retention says: it does not know which node has left, and a
// user may scale or delete it.
func RetentionPolicy() *appsv1ac.StatefulSetPersistentVolumeClaimRetentionPolicyApplyConfiguration {
	const kept = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	return appsv1ac.StatefulSetPersistentVolumeClaimRetentionPolicy().WithWhenDeleted(kept).WithWhenScaled(kept)
}

// OwnsClaims reports whether the StatefulSet's own policy still deletes claims: its controller would put back what is taken from them.
func OwnsClaims(set *appsv1.StatefulSet) bool {
	const deletes = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	policy := set.Spec.PersistentVolumeClaimRetentionPolicy
	return policy != nil && (policy.WhenDeleted == deletes || policy.WhenScaled == deletes)
}

// ToDelete reports whether a claim is to be deleted. One that the object does not own was left when another retention was asked for,
// and stays.
func (r Retention) ToDelete(pod string, claim *corev1.PersistentVolumeClaim) bool {
	return r.Deletes && claim.DeletionTimestamp.IsZero() && !r.HasPlace(pod) && r.isOwned(claim.OwnerReferences) && r.IsUnneeded(pod, claim)
}

// Owners are the owners that a claim is to have: the object, with which the claim is deleted, if that is asked for. Its StatefulSet
// is no longer an owner, as it was up to release 0.2.0-rc.1. Owners that others have set stay.
func (r Retention) Owners(pod string, claim *corev1.PersistentVolumeClaim) []metav1.OwnerReference {
	owners := slices.DeleteFunc(slices.Clone(claim.OwnerReferences), func(owner metav1.OwnerReference) bool {
		return owner.Kind == "StatefulSet" && owner.Name == r.Owner.Name && owner.APIVersion == appsv1.SchemeGroupVersion.String()
	})
	switch {
	case !r.Deletes:
		return slices.DeleteFunc(owners, func(owner metav1.OwnerReference) bool { return owner.UID == r.Owner.UID })
	case r.isOwned(owners) || !r.HasPlace(pod): // a claim that was left when another retention was asked for stays
		return owners
	}
	return append(owners, r.Owner)
}

func (r Retention) isOwned(owners []metav1.OwnerReference) bool {
	return slices.ContainsFunc(owners, func(owner metav1.OwnerReference) bool { return owner.UID == r.Owner.UID })
}
