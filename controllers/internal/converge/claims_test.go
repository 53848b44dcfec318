package converge

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
)

func TestEnlargeClaims(t *testing.T) {
	kind := corev1.Resource("persistentvolumeclaims")
	for _, c := range []struct {
		name    string
		answer  error // to the write of the first claim
		refused bool
		fails   bool
	}{
		{"both are written", nil, false, false},
		{"the storage class does not let it grow", apierrors.NewForbidden(kind, "data-a-0", errors.New("no")), true, false},
		{"a quota is used up", apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim").GroupKind(), "data-a-0", nil),
			true, false},
		{"somebody has changed it since", apierrors.NewConflict(kind, "data-a-0", errors.New("changed")), false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			claims := map[string]*corev1.PersistentVolumeClaim{}
			for _, pod := range []string{"a-0", "a-1", "a-2"} {
				claims[pod] = &corev1.PersistentVolumeClaim{}
				claims[pod].Name = ClaimName("data", pod)
				claims[pod].Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
			}
			g := volumes.Growth{Size: resource.MustParse("2Gi"), ToRequest: []string{"a-0", "a-1"}}
			refusal, err := EnlargeClaims(claims, g, func(seen, next *corev1.PersistentVolumeClaim) error {
				if before := seen.Spec.Resources.Requests.Storage().String(); before != "1Gi" ||
					next.Spec.Resources.Requests.Storage().Cmp(g.Size) != 0 {
					t.Errorf("%s of %s is written", next.Spec.Resources.Requests.Storage(), before)
				}
				if seen.Name == "data-a-0" {
					return c.answer
				}
				return nil
			})
			if (refusal != "") != c.refused || (err != nil) != c.fails || err != nil && !apierrors.IsConflict(err) {
				t.Errorf("refused %q, %v", refusal, err)
			}
			first := map[bool]string{true: "2Gi", false: "1Gi"}[c.answer == nil]
			for pod, want := range map[string]string{"a-0": first, "a-1": "2Gi", "a-2": "1Gi"} {
				if got := claims[pod].Spec.Resources.Requests.Storage().String(); got != want {
					t.Errorf("%s asks for %s, not %s", pod, got, want)
				}
			}
		})
	}
}

// Another claim of the same name, or one that somebody has changed since, may have other data. If the object has changed, it may ask to
// keep the claim.
func TestAClaimIsDeletedOnlyAsItWasInspected(t *testing.T) {
	for _, refusal := range []error{nil, errors.New("the object has changed")} {
		owner := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "a", UID: "object"}
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "data-a-2", UID: "claim",
			ResourceVersion: "7",
			OwnerReferences: []metav1.OwnerReference{owner}}}
		deleted := 0
		api := fake.NewClientBuilder().WithObjects(claim.DeepCopy()).WithInterceptorFuncs(interceptor.Funcs{
			Delete: func(_ context.Context, _ client.WithWatch, _ client.Object, options ...client.DeleteOption) error {
				deleted++
				o := (&client.DeleteOptions{}).ApplyOptions(options)
				if o.Preconditions == nil || ptr.Deref(o.Preconditions.UID, "") != types.UID("claim") ||
					ptr.Deref(o.Preconditions.ResourceVersion, "") != "7" {
					t.Errorf("a claim is deleted by its name: %+v", o.Preconditions)
				}
				return nil
			}}).Build()
		kept := volumes.Retention{Owner: owner, Deletes: true, HasPlace: func(string) bool { return false },
			IsUnneeded: func(string, *corev1.PersistentVolumeClaim) bool { return true }}
		err := (&Converger{Client: api}).SettleClaims(t.Context(), map[string]*corev1.PersistentVolumeClaim{"a-2": claim}, kept,
			func(context.Context) error { return refusal }, nil)
		if !errors.Is(err, refusal) || (deleted == 1) != (refusal == nil) {
			t.Errorf("deleted %d times, %v", deleted, err)
		}
	}
}
