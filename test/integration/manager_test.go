package integration

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

var _ = Describe("The manager", func() {
	It("knows the account that it runs as", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		Expect(controllers.OwnAccount(ctx, namespacedRights(ctx, namespace))).To(
			Equal(types.NamespacedName{Namespace: namespace, Name: "mainstay-operator-controller-manager"}))
		Expect(controllers.OwnAccount(ctx, operates)).To(BeZero(), "a user is no pod")
	})

	It("lends its account to no one", func(ctx SpecContext) {
		k := kindOf("EasyService")
		namespace := k.newNamespace(ctx)
		install{namespaces: []string{namespace}, images: images, account: types.NamespacedName{Namespace: namespace, Name: "manager"}}.operate()
		as := func(account string) func(client.Object) {
			return func(obj client.Object) { obj.(*appv1.EasyService).Spec.ServiceAccountName = account }
		}
		refused := func(obj client.Object) {
			GinkgoHelper()
			Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionReady, metav1.ConditionFalse,
				commonv1.ReasonInvalidSpec).Should(Succeed())
			read, err := live(ctx, obj)
			Expect(err).NotTo(HaveOccurred())
			Expect(conditionOf(read, commonv1.ConditionDegraded)).To(HaveField("Message",
				And(HavePrefix("serviceAccountName: "), ContainSubstring(`"manager"`))))
		}
		obj := builders.EasyService("a").Build()
		obj.Namespace, obj.Spec.ServiceAccountName = namespace, "manager"
		Expect(admin.Create(ctx, obj)).To(Succeed())
		refused(obj)
		Expect(childrenIn(ctx, namespace)).To(BeEmpty())

		update(ctx, obj, as("reader"))
		k.rest(ctx, obj)
		before := versions(ctx, namespace)
		update(ctx, obj, as("manager"))
		refused(obj)
		Expect(versions(ctx, namespace)).To(Equal(before), "what runs is let be")
	})

	DescribeTable("is let in from its namespace alone", func(ctx SpecContext, name, own string) {
		k := kindOf(name)
		namespace := k.newNamespace(ctx)
		install{namespaces: []string{namespace}, images: images, account: types.NamespacedName{Namespace: own, Name: "manager"}}.operate()
		k.create(ctx, namespace)
		var policy networkingv1.NetworkPolicy
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "full"}, &policy)).To(Succeed())
		Expect(policy.Spec.Ingress).To(HaveLen(1))
		var from []*metav1.LabelSelector
		for _, peer := range policy.Spec.Ingress[0].From {
			if peer.NamespaceSelector != nil {
				from = append(from, peer.NamespaceSelector)
			}
		}
		if own == "" {
			Expect(from).To(BeEmpty())
			return
		}
		Expect(from).To(HaveExactElements(HaveValue(Equal(metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: own}}))))
	},
		Entry("by Redis", "Redis", "operators"),
		Entry("by Memcached with certificates", "Memcached", "operators"),
		Entry("by no rule where the operator is no pod", "Redis", ""),
	)

	It("decodes no ConfigMap and no Secret to watch it", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		var lists listed
		rights := rest.CopyConfig(operates)
		rights.Wrap(lists.wrap)
		install{rights: rights, namespaces: []string{namespace}, images: images}.operate()
		for _, resource := range []string{"configmaps", "secrets"} {
			bare, whole := lists.of(resource)
			Expect(bare).NotTo(BeZero(), resource)
			Expect(whole).To(BeEmpty(), resource)
		}
	})

	It("is ready when its caches are filled, and says at once that they are not", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		var away atomic.Bool
		var refused atomic.Int32
		away.Store(true)
		o, _, err := install{namespaces: []string{namespace}, images: images, decide: func(c fault.Call) fault.Fault {
			if !away.Load() || c.Resource != "statefulsets" {
				return fault.None
			}
			refused.Add(1)
			return fault.Internal
		}}.start()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { o.cancel() })
		Eventually(refused.Load).Should(BeNumerically(">", 0))
		Expect(o.probes["readyz"](nil)).To(MatchError(ContainSubstring("caches")))
		Expect(o.probes["healthz"](nil)).To(Succeed(), "a restart fixes no API server")
		away.Store(false)
		Eventually(func() error { return o.probes["readyz"](nil) }).Should(Succeed())
		o.stop()
		Expect(o.probes["readyz"](nil)).NotTo(Succeed(), "it has ended")
	})

	forEachKind("needs no cache that a standby has not filled", func(ctx SpecContext, k kind) {
		namespace := k.newNamespace(ctx)
		here := install{rights: namespacedRights(ctx, namespace), namespaces: []string{namespace}, own: namespace, images: images}
		leader := here.operate()
		obj := k.create(ctx, namespace)
		standby := here.operate()
		Eventually(func() error { return standby.probes["readyz"](nil) }).Should(Succeed())
		led := func(c fault.Call) bool { return c.Resource == "leases" && c.Writes() && c.Code == http.StatusOK }
		Expect(standby.Calls(led)).To(BeEmpty())
		// Those of the leader election are a standby's alone.
		opened := func() int {
			return len(standby.Calls(func(c fault.Call) bool { return c.Verb == "watch" && c.Resource != "leases" }))
		}
		election := func(c fault.Call) bool { return c.Verb == "watch" && (c.Resource == "leases" || c.Resource == "pods") }
		Eventually(func() int { return len(standby.Calls(election)) }).Should(BeNumerically(">=", 3),
			"the lease, the leader's pod, and all that the kinds made")
		before := opened()
		leader.stop()
		Eventually(standby.Calls).WithArguments(led).ShouldNot(BeEmpty())
		update(ctx, obj, k.edit)
		k.rest(ctx, obj)
		Expect(opened()).To(Equal(before))
	})

	It("is drained one pod at a time by every install", func(ctx SpecContext) {
		for _, objects := range [][]*unstructured.Unstructured{
			namespaced(newNamespace(ctx)), rendered(filepath.Join(root, "config", "default")), rendered(filepath.Join(root, "config", "manifests")),
		} {
			manager := onlyOf[appsv1.Deployment](objects, "Deployment")
			budget := onlyOf[policyv1.PodDisruptionBudget](objects, "PodDisruptionBudget")
			Expect(budget.Namespace).To(Equal(manager.Namespace))
			Expect(budget.Spec.MaxUnavailable).To(HaveValue(Equal(intstr.FromInt32(1))))
			Expect(*manager.Spec.Replicas).To(BeNumerically(">", 1))
			selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
			Expect(err).NotTo(HaveOccurred())
			Expect(selector.Matches(labels.Set(manager.Spec.Template.Labels))).To(BeTrue())
		}
	})
})

// onlyOf returns the only object of a kind.
func onlyOf[T any](objects []*unstructured.Unstructured, kind string) T {
	GinkgoHelper()
	var found []T
	for _, object := range objects {
		if object.GetKind() == kind {
			var typed T
			Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &typed)).To(Succeed())
			found = append(found, typed)
		}
	}
	Expect(found).To(HaveLen(1), kind)
	return found[0]
}

// listed are the lists and watches of one process, as they were asked for.
type listed struct {
	mu       sync.Mutex
	requests []*http.Request
}

func (l *listed) wrap(next http.RoundTripper) http.RoundTripper {
	return tripper(func(r *http.Request) (*http.Response, error) {
		l.mu.Lock()
		l.requests = append(l.requests, r.Clone(context.Background()))
		l.mu.Unlock()
		return next.RoundTrip(r)
	})
}

// of a resource: how many asked for metadata alone, and the selectors of those that did not.
func (l *listed) of(resource string) (bare int, whole []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.requests {
		switch {
		case r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/"+resource):
		case strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata"):
			bare++
		default:
			whole = append(whole, r.URL.Query().Get("labelSelector"))
		}
	}
	return bare, whole
}

type tripper func(*http.Request) (*http.Response, error)

func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }
