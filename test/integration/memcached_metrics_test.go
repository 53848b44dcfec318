package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

var _ = Describe("Memcached's metrics", func() {
	It("are exported, and found where there is a Prometheus operator", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		obj := builders.Memcached("a").In(namespace).With(func(s *cachev1alpha1.MemcachedSpec) {
			s.Metrics = &cachev1alpha1.MemcachedMetrics{Enabled: true, ServiceMonitor: &commonv1.ServiceMonitor{Interval: "30s"}}
		}).Build()
		Expect(admin.Create(ctx, obj)).To(Succeed())
		expectMessage(ctx, obj, commonv1.ConditionDegraded, "True APIMissing: metrics.serviceMonitor: the cluster has no ServiceMonitor")
		set := &appsv1.StatefulSet{}
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(obj), set)).To(Succeed())
		Expect(set.Spec.Template.Spec.Containers).To(ContainElement(And(HaveField("Name", "exporter"),
			HaveField("Image", ContainSubstring("exporter")))))

		serviceMonitor.install()
		Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionReady, metav1.ConditionTrue).Should(Succeed())
		Expect(serviceMonitor.spec(ctx, namespace, "a")).To(Equal(map[string]any{
			"selector":  map[string]any{"matchLabels": map[string]any{"app.kubernetes.io/name": "memcached", "app.kubernetes.io/instance": "a"}},
			"endpoints": []any{map[string]any{"port": "metrics", "path": "/metrics", "interval": "30s"}},
		}))
		update(ctx, obj, func(o client.Object) { o.(*cachev1alpha1.Memcached).Spec.Metrics = nil })
		Eventually(func() bool { return apierrors.IsNotFound(serviceMonitor.get(ctx, namespace, "a")) }).Should(BeTrue())
	})
})
