package etcd

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// retentionPolicy has the StatefulSet delete no claim, whatever storage.retention says: it knows nothing of members, and somebody may
// scale or delete it.
func retentionPolicy() *appsv1ac.StatefulSetPersistentVolumeClaimRetentionPolicyApplyConfiguration {
	const kept = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	return appsv1ac.StatefulSetPersistentVolumeClaimRetentionPolicy().WithWhenDeleted(kept).WithWhenScaled(kept)
}

// deletesClaims reports whether storage.retention asks to delete the volumes that no member needs.
func deletesClaims(e *databasev1alpha1.EtcdCluster) bool {
	return e.Spec.Storage != nil && e.Spec.Storage.Retention == databasev1alpha1.EtcdDelete
}

// claimOwners are the owners that a claim is to have: the EtcdCluster, with which the claim is deleted, if that is asked for. Its
// StatefulSet is no longer an owner, as it was up to release 0.2.0-rc.1. Owners that others have set stay.
func claimOwners(e *databasev1alpha1.EtcdCluster, claim *corev1.PersistentVolumeClaim, place string) []metav1.OwnerReference {
	owners := slices.DeleteFunc(slices.Clone(claim.OwnerReferences), func(owner metav1.OwnerReference) bool {
		return owner.Kind == "StatefulSet" && owner.Name == e.Name && owner.APIVersion == appsv1.SchemeGroupVersion.String()
	})
	isOwned := slices.ContainsFunc(owners, func(owner metav1.OwnerReference) bool { return owner.UID == e.UID })
	switch needed := hasPlace(e, place); {
	case !deletesClaims(e):
		return slices.DeleteFunc(owners, func(owner metav1.OwnerReference) bool { return owner.UID == e.UID })
	case isOwned || !needed: // a claim that was left when another retention was asked for stays
		return owners
	}
	kind := databasev1alpha1.GroupVersion.WithKind("EtcdCluster")
	return append(owners, metav1.OwnerReference{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: e.Name, UID: e.UID})
}

// hasPlace reports whether there is, or may soon be, a pod of that name.
func hasPlace(e *databasev1alpha1.EtcdCluster, pod string) bool {
	return membership.Ordinal(pod) < membership.Situation{Status: &e.Status}.DesiredPods()
}

// isUnneeded reports whether a claim is to be deleted: retention is Delete, etcd itself lists no member of its name, and the claim has only
// what a member of this cluster left. The claim of a member that was given up in a restore or a recovery is needed: it may have what
// the survivor lacks.
func isUnneeded(e *databasev1alpha1.EtcdCluster, w membership.World, claim *corev1.PersistentVolumeClaim, pod string) bool {
	record, data := e.Status.Membership, claim.Annotations[annotationData]
	m, _ := w.Find(pod)
	return deletesClaims(e) && claim.DeletionTimestamp.IsZero() && !hasPlace(e, pod) &&
		w.Listed && m.Listed == nil && m.Pod.UID == "" &&
		record.Change == nil && record.Restore == nil && e.Status.LastRecovery == nil &&
		(data == "" || data == record.Token) &&
		slices.ContainsFunc(claim.OwnerReferences, func(owner metav1.OwnerReference) bool { return owner.UID == e.UID })
}
