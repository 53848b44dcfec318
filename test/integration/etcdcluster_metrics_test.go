package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

var _ = Describe("EtcdCluster's metrics", func() {
	It("are found where there is a Prometheus operator", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		obj := builders.EtcdCluster("a").In(namespace).With(func(s *databasev1alpha1.EtcdClusterSpec) {
			s.Metrics = &databasev1alpha1.EtcdMetrics{ServiceMonitor: commonv1.ServiceMonitor{Interval: "30s"}}
		}).Build()
		Expect(admin.Create(ctx, obj)).To(Succeed())
		expectMessage(ctx, obj, commonv1.ConditionDegraded, "True APIMissing: metrics.serviceMonitor: the cluster has no ServiceMonitor")

		serviceMonitor.install()
		Eventually(serviceMonitor.get).WithArguments(ctx, namespace, "a").Should(Succeed())
		Expect(serviceMonitor.spec(ctx, namespace, "a")).To(Equal(map[string]any{
			"selector":  map[string]any{"matchLabels": map[string]any{"app.kubernetes.io/name": "etcd", "app.kubernetes.io/instance": "a"}},
			"endpoints": []any{map[string]any{"port": "metrics", "path": "/metrics", "interval": "30s"}},
		}))
		update(ctx, obj, func(o client.Object) { o.(*databasev1alpha1.EtcdCluster).Spec.Metrics = nil })
		Eventually(func() bool { return apierrors.IsNotFound(serviceMonitor.get(ctx, namespace, "a")) }).Should(BeTrue())
	})
})
