package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

var _ = Describe("The Service of a Redis", func() {
	It("leads to the new master also while the API server refuses what the spec asks of it", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		install{namespaces: []string{namespace}, images: images}.operate()
		obj := builders.Redis("routed").Size(3).MinReplicas(0).Build()
		obj.Namespace = namespace
		Expect(admin.Create(ctx, obj)).To(Succeed())
		servers := serve(ctx, namespace, "routed", 3)
		Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionFailoverPossible, metav1.ConditionTrue).Should(Succeed())

		Eventually(func(g Gomega) { // the last replica may be attached at the same time
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
			obj.Spec.Service.Annotations = map[string]string{"no key": "of an annotation"}
			g.Expect(admin.Update(ctx, obj)).To(Succeed())
		}).Should(Succeed())
		Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionDegraded, metav1.ConditionTrue).Should(Succeed())
		servers[obj.Status.Master].stop()
		Eventually(func(g Gomega) {
			var read cachev1alpha1.Redis
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(obj), &read)).To(Succeed())
			g.Expect(read.Status.Master).NotTo(Equal(obj.Status.Master))
			g.Expect(read.Status.LastFailover.RoutedAt).NotTo(BeNil())
			var service corev1.Service
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(obj), &service)).To(Succeed())
			g.Expect(service.Spec.Selector).To(HaveKeyWithValue("statefulset.kubernetes.io/pod-name", read.Status.Master))
		}).Should(Succeed())
	})
})
