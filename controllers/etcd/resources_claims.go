package etcd

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
)

// deletesClaims reports whether storage.retention asks to delete the volumes that no member needs.
func deletesClaims(e *databasev1alpha1.EtcdCluster) bool {
	return e.Spec.Storage != nil && e.Spec.Storage.Retention == databasev1alpha1.EtcdDelete
}

// claimRetention is what becomes of the claims of an EtcdCluster of which the operator sees that.
func claimRetention(e *databasev1alpha1.EtcdCluster, w membership.World) volumes.Retention {
	kind := databasev1alpha1.GroupVersion.WithKind("EtcdCluster")
	return volumes.Retention{
		Owner:    metav1.OwnerReference{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: e.Name, UID: e.UID},
		Deletes:  deletesClaims(e),
		HasPlace: func(pod string) bool { return hasPlace(e, pod) },
		IsUnneeded: func(pod string, claim *corev1.PersistentVolumeClaim) bool {
			return isUnneeded(e, w, claim, pod)
		},
	}
}

// hasPlace reports whether there is, or may soon be, a pod of that name.
func hasPlace(e *databasev1alpha1.EtcdCluster, pod string) bool {
	return membership.Ordinal(pod) < membership.Situation{Status: &e.Status}.DesiredPods()
}

// isUnneeded reports whether etcd itself lists no member of that name, and the claim has only what a member of this cluster left. The
// claim of a member that was given up in a restore or a recovery is needed: it may have what the survivor lacks.
func isUnneeded(e *databasev1alpha1.EtcdCluster, w membership.World, claim *corev1.PersistentVolumeClaim, pod string) bool {
	record, data := e.Status.Membership, claim.Annotations[annotationData]
	m, _ := w.Find(pod)
	return w.Listed && m.Listed == nil && m.Pod.UID == "" &&
		record.Change == nil && record.Restore == nil && e.Status.LastRecovery == nil &&
		(data == "" || data == record.Token)
}
