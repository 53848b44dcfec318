package volumes

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A user may scale or delete the StatefulSet, which knows nothing of the data.
func TestTheStatefulSetKeepsEveryClaim(t *testing.T) {
	policy := RetentionPolicy()
	const retain = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	if *policy.WhenScaled != retain || *policy.WhenDeleted != retain {
		t.Errorf("claims are to be %s when it is scaled, and %s when it is deleted", *policy.WhenScaled, *policy.WhenDeleted)
	}
}

func TestRetentionOfAClaim(t *testing.T) {
	object := metav1.OwnerReference{APIVersion: "x/v1", Kind: "Kind", Name: "a", UID: "object"}
	set := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "a", UID: "set"}
	person := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "a", UID: "person"}
	for _, c := range []struct {
		name     string
		deletes  bool
		hasPlace bool
		unneeded bool
		leaving  bool
		owners   []metav1.OwnerReference
		deleted  bool
		want     []types.UID
	}{
		{name: "with Retain it has no owner", hasPlace: true},
		{name: "Retain takes it from the object and from the StatefulSet, not from others", hasPlace: true,
			owners: []metav1.OwnerReference{object, set, person}, want: []types.UID{"person"}},
		{name: "Retain deletes no unneeded one", unneeded: true, owners: []metav1.OwnerReference{object}},
		{name: "Delete gives it to the object", deletes: true, hasPlace: true, want: []types.UID{"object"}},
		{name: "Delete takes it from the StatefulSet", deletes: true, hasPlace: true,
			owners: []metav1.OwnerReference{set, person}, want: []types.UID{"person", "object"}},
		{name: "one that was left with Retain stays", deletes: true, unneeded: true},
		{name: "one that the object owns is deleted when it is unneeded", deletes: true, unneeded: true,
			owners: []metav1.OwnerReference{object}, deleted: true, want: []types.UID{"object"}},
		{name: "one without a place that may be needed stays", deletes: true,
			owners: []metav1.OwnerReference{object}, want: []types.UID{"object"}},
		{name: "one with a place stays", deletes: true, hasPlace: true, unneeded: true,
			owners: []metav1.OwnerReference{object}, want: []types.UID{"object"}},
		{name: "one that is being deleted is not deleted again", deletes: true, unneeded: true, leaving: true,
			owners: []metav1.OwnerReference{object}, want: []types.UID{"object"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{OwnerReferences: c.owners}}
			if c.leaving {
				claim.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
			}
			r := Retention{Owner: object, Deletes: c.deletes, HasPlace: func(string) bool { return c.hasPlace },
				IsUnneeded: func(string, *corev1.PersistentVolumeClaim) bool { return c.unneeded }}
			var got []types.UID
			for _, owner := range r.Owners("a-1", claim) {
				got = append(got, owner.UID)
			}
			if deleted := r.ToDelete("a-1", claim); deleted != c.deleted || !slices.Equal(got, c.want) {
				t.Errorf("deleted: %t, owners %v", deleted, got)
			}
		})
	}
}
