package integration

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What the core relies on and no page of Kubernetes' documentation promises.
var _ = Describe("The API server", func() {
	apply := func(namespace string, change func(*corev1ac.ConfigMapApplyConfiguration), options ...client.ApplyOption) error {
		ours := corev1ac.ConfigMap("a", namespace).WithData(map[string]string{"ours": "1"})
		change(ours)
		return admin.Apply(context.Background(), ours, append(options, client.FieldOwner("us"))...)
	}
	stranger := func(ctx context.Context) *corev1.ConfigMap {
		GinkgoHelper()
		made := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: newNamespace(ctx)},
			Data:       map[string]string{"theirs": "1"},
		}
		Expect(admin.Create(ctx, made)).To(Succeed())
		return made
	}

	It("creates by an apply at a resourceVersion that nothing bears, and refuses it where an object is", func(ctx SpecContext) {
		first := func(c *corev1ac.ConfigMapApplyConfiguration) { c.WithResourceVersion("1") }
		namespace := newNamespace(ctx)
		Expect(apply(namespace, first)).To(Succeed())
		Expect(apply(namespace, first)).To(Satisfy(apierrors.IsConflict))
		Expect(apply(stranger(ctx).Namespace, first)).To(Satisfy(apierrors.IsConflict), "no field of theirs is ours")
	})

	It("refuses an apply that names another UID, by force too", func(ctx SpecContext) {
		another := func(c *corev1ac.ConfigMapApplyConfiguration) { c.WithUID("11111111-2222-3333-4444-555555555555") }
		err := apply(stranger(ctx).Namespace, another, client.ForceOwnership)
		Expect(err).To(And(Satisfy(apierrors.IsInvalid), MatchError(ContainSubstring("metadata.uid"))))
		Expect(apply(newNamespace(ctx), another, client.ForceOwnership)).To(Satisfy(apierrors.IsConflict))
	})
})
