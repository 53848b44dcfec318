package integration

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// extension is a type that the suite's API server lacks until a spec installs it.
type extension struct {
	apiVersion, kind string
	module, file     string // that holds its definition
}

var (
	httpRoute = extension{"gateway.networking.k8s.io/v1", "HTTPRoute",
		"sigs.k8s.io/gateway-api", "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml"}
	serviceMonitor = extension{"monitoring.coreos.com/v1", "ServiceMonitor",
		"github.com/prometheus-operator/prometheus-operator", "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml"}
)

// install makes the API server have the types, as their makers define them, until the spec ends.
func (e extension) install() {
	GinkgoHelper()
	download := exec.Command("go", "mod", "download", "-json", e.module)
	download.Dir = filepath.Join(root, "hack/tools/crds")
	answer, err := download.Output()
	Expect(err).NotTo(HaveOccurred(), string(answer))
	var found struct{ Dir string }
	Expect(json.Unmarshal(answer, &found)).To(Succeed())

	options := envtest.CRDInstallOptions{Paths: []string{filepath.Join(found.Dir, e.file)}, ErrorIfPathMissing: true}
	_, err = envtest.InstallCRDs(cluster.Config, options)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		Expect(envtest.UninstallCRDs(cluster.Config, options)).To(Succeed())
		Eventually(e.get).WithArguments(ctx, "default", "gone").Should(Satisfy(func(err error) bool {
			return apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) // the server has no such path
		}))
	})
}

func (e extension) named(namespace, name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion(e.apiVersion)
	obj.SetKind(e.kind)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj
}

func (e extension) get(ctx context.Context, namespace, name string) error {
	return admin.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, e.named(namespace, name))
}

// spec of the child, as it stands.
func (e extension) spec(ctx context.Context, namespace, name string) (any, error) {
	obj := e.named(namespace, name)
	err := admin.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	return obj.Object["spec"], err
}

var _ = Describe("Types that a cluster may lack:", func() {
	It("are made once the cluster has them, kept, and taken away", func(ctx SpecContext) {
		namespace := kind{level: "baseline"}.newNamespace(ctx)
		o := operate(namespace)
		e := builders.EasyService("web").In(namespace).Ports(appv1.Port{Name: "http", Port: 80}, appv1.Port{Name: "admin", Port: 81}).
			With(func(s *appv1.EasyServiceSpec) {
				s.Gateway = &appv1.Route{ParentRefs: []appv1.ParentRef{{Name: "edge", Namespace: "gateways"}}, Hostnames: []string{"a.example.org"},
					Port: 81}
				s.Metrics = &appv1.Metrics{Port: "admin", ServiceMonitor: commonv1.ServiceMonitor{Labels: map[string]string{"release": "p"},
					Interval: "30s"}}
				s.NetworkPolicy = &commonv1.NetworkPolicy{}
			}).Build()
		Expect(admin.Create(ctx, e)).To(Succeed())

		By("saying which field asks for what is not there, while all else is made")
		Eventually(checkCondition).WithArguments(ctx, e, commonv1.ConditionDegraded, metav1.ConditionTrue,
			commonv1.ReasonAPIMissing).Should(Succeed())
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(e), e)).To(Succeed())
		Expect(meta.FindStatusCondition(e.Status.Conditions,
			commonv1.ConditionDegraded).Message).To(HavePrefix("gateway: the cluster has no HTTPRoute of gateway.networking.k8s.io/v1"))
		Eventually(func() int32 { _ = admin.Get(ctx, client.ObjectKeyFromObject(e), e); return e.Status.ReadyReplicas }).Should(BeEquivalentTo(1))
		var policy networkingv1.NetworkPolicy
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(e), &policy)).To(Succeed())
		Expect(policy.Spec.Ingress[0].Ports).To(HaveLen(2))

		By("making them when they come")
		httpRoute.install()
		serviceMonitor.install()
		Eventually(checkCondition).WithArguments(ctx, e, commonv1.ConditionReady, metav1.ConditionTrue).Should(Succeed())
		route := map[string]any{
			"parentRefs": []any{map[string]any{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "edge", "namespace": "gateways"}},
			"hostnames":  []any{"a.example.org"},
			"rules": []any{map[string]any{
				"matches":     []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": "/"}}},
				"backendRefs": []any{map[string]any{"group": "", "kind": "Service", "name": "web", "port": int64(81), "weight": int64(1)}},
			}},
		}
		Expect(httpRoute.spec(ctx, namespace, "web")).To(Equal(route))
		Expect(serviceMonitor.spec(ctx, namespace, "web")).To(Equal(map[string]any{
			"selector":  map[string]any{"matchLabels": map[string]any{"app.kubernetes.io/name": "easyservice", "app.kubernetes.io/instance": "web"}},
			"endpoints": []any{map[string]any{"port": "admin", "path": "/metrics", "interval": "30s"}},
		}))
		waitForRest(o)

		By("keeping them")
		patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"hostnames":["b.example.org"]}}`))
		Expect(admin.Patch(ctx, httpRoute.named(namespace, "web"), patch)).To(Succeed())
		Eventually(httpRoute.spec).WithArguments(ctx, namespace, "web").Should(Equal(route))
		Expect(admin.Delete(ctx, httpRoute.named(namespace, "web"))).To(Succeed())
		Eventually(httpRoute.spec).WithArguments(ctx, namespace, "web").Should(Equal(route))

		By("sending nothing after a restart")
		waitForRest(o)
		o.stop()
		before := passes(kind{name: "EasyService"})
		restarted := operate(namespace)
		Eventually(passes).WithArguments(kind{name: "EasyService"}).Should(BeNumerically(">", before))
		Consistently(restarted.Calls).WithArguments(work).Should(BeEmpty())

		By("taking away what is no longer asked for, not before spec.paused is false, also when no pass has looked")
		dropped(ctx, e, func(s *appv1.EasyServiceSpec) { s.Gateway, s.Paused = nil, true })
		Eventually(checkCondition).WithArguments(ctx, e, commonv1.ConditionReady, metav1.ConditionFalse,
			commonv1.ReasonSpecPaused).Should(Succeed())
		Expect(httpRoute.get(ctx, namespace, "web")).To(Succeed())
		dropped(ctx, e, func(s *appv1.EasyServiceSpec) { s.Paused = false })
		Eventually(func() bool { return apierrors.IsNotFound(httpRoute.get(ctx, namespace, "web")) }).Should(BeTrue())
		restarted.stop()
		dropped(ctx, e, func(s *appv1.EasyServiceSpec) { s.Metrics, s.NetworkPolicy = nil, nil })
		operate(namespace)
		Eventually(func() bool { return apierrors.IsNotFound(serviceMonitor.get(ctx, namespace, "web")) }).Should(BeTrue())
		Eventually(func() bool { return apierrors.IsNotFound(admin.Get(ctx, client.ObjectKeyFromObject(e), &policy)) }).Should(BeTrue())
	})

	It("are not touched where somebody else made them", func(ctx SpecContext) {
		httpRoute.install()
		namespace := kind{level: "baseline"}.newNamespace(ctx)
		theirs := httpRoute.named(namespace, "web")
		theirs.Object["spec"] = map[string]any{"hostnames": []any{"theirs.example.org"}}
		Expect(admin.Create(ctx, theirs)).To(Succeed())
		operate(namespace)
		e := builders.EasyService("web").In(namespace).Ports(appv1.Port{Port: 80}).With(func(s *appv1.EasyServiceSpec) {
			s.Gateway = &appv1.Route{ParentRefs: []appv1.ParentRef{{Name: "edge"}}}
		}).Build()
		Expect(admin.Create(ctx, e)).To(Succeed())
		Eventually(checkCondition).WithArguments(ctx, e, commonv1.ConditionDegraded, metav1.ConditionTrue,
			commonv1.ReasonNameConflict).Should(Succeed())
		dropped(ctx, e, func(s *appv1.EasyServiceSpec) { s.Gateway = nil })
		Eventually(checkCondition).WithArguments(ctx, e, commonv1.ConditionReady, metav1.ConditionTrue).Should(Succeed())
		Expect(httpRoute.get(ctx, namespace, "web")).To(Succeed())
	})
})

// dropped edits the object's spec as it stands.
func dropped(ctx context.Context, e *appv1.EasyService, change func(*appv1.EasyServiceSpec)) {
	GinkgoHelper()
	Eventually(func() error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(e), e); err != nil {
			return err
		}
		change(&e.Spec)
		return admin.Update(ctx, e)
	}).Should(Succeed())
}
