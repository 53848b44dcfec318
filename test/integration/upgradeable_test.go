package integration

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/crds"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/upgradeable"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

var _ = Describe("OLM's OperatorCondition", Ordered, func() {
	var key types.NamespacedName
	BeforeEach(func(ctx SpecContext) {
		key = types.NamespacedName{Namespace: newNamespace(ctx), Name: "mainstay-operator.v0.1.0"}
	})
	reported := func(ctx context.Context) *metav1.Condition {
		GinkgoHelper()
		var object operatorsv2.OperatorCondition
		Expect(admin.Get(ctx, key, &object)).To(Succeed())
		return meta.FindStatusCondition(object.Spec.Conditions, operatorsv2.Upgradeable)
	}
	says := func(status metav1.ConditionStatus, words string) OmegaMatcher {
		return And(HaveField("Status", status), HaveField("Message", ContainSubstring(words)))
	}
	// one Redis without servers, so that it waits for its first master.
	forming := func(ctx context.Context, namespace string) {
		GinkgoHelper()
		obj := builders.Redis("a").Build()
		obj.Namespace = namespace
		Expect(admin.Create(ctx, obj)).To(Succeed())
		Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionReady, metav1.ConditionFalse).Should(Succeed())
	}

	It("is let be where the cluster does not know it", func(ctx SpecContext) {
		o := install{namespaces: []string{key.Namespace}, condition: key, images: images}.operate()
		forming(ctx, key.Namespace) // something to report
		waitForRest(o)
		Consistently(o.Calls).WithArguments(func(fault.Call) bool { return true }).Should(BeEmpty())
	})

	It("is let be where it is forbidden", func(ctx SpecContext) {
		condition(ctx, key)
		o, err := install{namespaces: []string{key.Namespace}, condition: key, images: images}.launch()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(o.stop)
		Eventually(o.Calls).WithArguments(forbidden).Should(HaveLen(1))
		forming(ctx, key.Namespace)
		waitForRest(o)
		Consistently(o.Calls).WithArguments(forbidden).Should(BeEmpty())
		Expect(reported(ctx)).To(BeNil())
	})

	It("hears once that nothing holds, by no more than the rights that OLM grants", func(ctx SpecContext) {
		granted(ctx, key)
		o := install{namespaces: []string{key.Namespace}, condition: key, images: images}.operate()
		Eventually(reported).WithArguments(ctx).Should(says(metav1.ConditionTrue, "cuts nothing short"))
		// A call is recorded when its reply is read, which may be after others see what it did.
		Eventually(o.Calls).WithArguments(ofConditions).Should(HaveExactElements(HaveField("Verb", "get"), HaveField("Verb", "patch")))
		waitForRest(o)
		o.stop()
		o = install{namespaces: []string{key.Namespace}, condition: key, images: images}.operate()
		Eventually(o.Calls).WithArguments(ofConditions).Should(HaveExactElements(HaveField("Verb", "get")))
		waitForRest(o)
	})

	It("gets the report of all namespaces that are looked after, and of no other", func(ctx SpecContext) {
		granted(ctx, key)
		second, elsewhere := newNamespace(ctx), newNamespace(ctx)
		install{namespaces: []string{key.Namespace, second}, condition: key, images: images}.operate()
		obj := builders.Redis("a").Build()
		obj.Namespace = elsewhere
		Expect(admin.Create(ctx, obj)).To(Succeed())
		for _, namespace := range []string{key.Namespace, second} {
			forming(ctx, namespace)
			Eventually(reported).WithArguments(ctx).Should(says(metav1.ConditionFalse, "Redis "+namespace+"/a"))
		}
		Expect(reported(ctx).Message).NotTo(ContainSubstring(elsewhere))
	})

	It("gets the report of what holds an upgrade, ten minutes at most, and only what is new", func(ctx SpecContext) {
		granted(ctx, key)
		clock := clocktesting.NewFakePassiveClock(time.Now().Truncate(time.Second))
		here := client.NewNamespacedClient(admin, key.Namespace)
		r := &upgradeable.Reconciler{Client: here, APIReader: here, Condition: key, Clock: clock}
		pass := func(later time.Duration) time.Duration {
			GinkgoHelper()
			clock.SetTime(clock.Now().Add(later))
			result, err := r.Reconcile(ctx, ctrl.Request{})
			Expect(err).NotTo(HaveOccurred())
			return result.RequeueAfter
		}
		version := func() string {
			GinkgoHelper()
			var object operatorsv2.OperatorCondition
			Expect(admin.Get(ctx, key, &object)).To(Succeed())
			return object.ResourceVersion
		}
		obj := builders.Redis("a").Build()
		obj.Namespace = key.Namespace
		Expect(admin.Create(ctx, obj)).To(Succeed())

		Expect(pass(0)).To(Equal(10 * time.Minute))
		Expect(reported(ctx)).To(says(metav1.ConditionFalse, "Redis "+key.Namespace+"/a (no master)"))
		Expect(reported(ctx).LastTransitionTime.Time).To(BeTemporally("==", clock.Now()))
		at := version()
		Expect(pass(10*time.Minute - time.Second)).To(Equal(time.Second))
		Expect(version()).To(Equal(at))
		Expect(pass(time.Second)).To(BeZero())
		Expect(reported(ctx)).To(says(metav1.ConditionTrue, "no longer waiting for Redis "+key.Namespace+"/a"))
		at = version()
		Expect(pass(time.Hour)).To(BeZero())
		Expect(version()).To(Equal(at))
		Expect(admin.Delete(ctx, obj)).To(Succeed())
		Expect(pass(0)).To(BeZero())
		Expect(reported(ctx)).To(says(metav1.ConditionTrue, "cuts nothing short"))
	})

	It("gets the report of a failover while it is under way", func(ctx SpecContext) {
		granted(ctx, key)
		var stuck atomic.Bool
		o := install{namespaces: []string{key.Namespace}, condition: key, images: images, decide: func(c fault.Call) fault.Fault {
			if stuck.Load() && c.Writes() && c.Resource == "services" && c.Name == "a" {
				return fault.Internal // clients are not led to the new master
			}
			return fault.None
		}}.operate()
		obj := builders.Redis("a").Size(2).MinReplicas(0).Build()
		obj.Namespace = key.Namespace
		Expect(admin.Create(ctx, obj)).To(Succeed())
		Eventually(reported).WithArguments(ctx).Should(says(metav1.ConditionFalse, "Redis "+key.Namespace+"/a (no master)"))
		servers := serve(ctx, key.Namespace, "a", 2)
		Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionFailoverPossible, metav1.ConditionTrue).Should(Succeed())
		Eventually(reported).WithArguments(ctx).Should(says(metav1.ConditionTrue, "cuts nothing short"))
		waitForRest(o)
		Expect(holding()).To(BeZero())

		stuck.Store(true)
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		servers[obj.Status.Master].stop()
		Eventually(reported).WithArguments(ctx).Should(says(metav1.ConditionFalse, "Redis "+key.Namespace+"/a ("))
		Consistently(reported).WithArguments(ctx).Should(says(metav1.ConditionFalse, "Redis "+key.Namespace+"/a ("))
		Expect(holding()).To(Equal(1.0))
		Eventually(func(g Gomega) {
			var read cachev1alpha1.Redis
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(obj), &read)).To(Succeed())
			g.Expect(read.Status.Master).NotTo(Equal(obj.Status.Master))
			g.Expect(read.Status.LastFailover.RoutedAt).To(BeNil())
		}).Should(Succeed())

		stuck.Store(false)
		Eventually(reported).WithArguments(ctx).Should(says(metav1.ConditionTrue, "cuts nothing short")) // the retry may have backed off
		Expect(holding()).To(BeZero())
		Expect(len(o.Calls(func(c fault.Call) bool { return ofConditions(c) && c.Writes() }))).To(BeNumerically("<=", 4))
	})
})

func ofConditions(c fault.Call) bool {
	return c.Resource == "operatorconditions" && c.Code < http.StatusBadRequest
}

// condition makes what OLM makes when it installs.
func condition(ctx context.Context, key types.NamespacedName) {
	GinkgoHelper()
	Expect(knowConditions()).To(Succeed())
	Expect(admin.Create(ctx, &operatorsv2.OperatorCondition{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace,
		Name: key.Name}})).To(Succeed())
}

// knowConditions makes the cluster know the kind, from then on.
var knowConditions = sync.OnceValue(func() error {
	_, err := envtest.InstallCRDs(cluster.Config,
		envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crds.OperatorCondition()}})
	return err
})

// granted makes the OperatorCondition and grants the operator what OLM does.
func granted(ctx context.Context, key types.NamespacedName) {
	GinkgoHelper()
	condition(ctx, key)
	Expect(admin.Create(ctx, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{operatorsv2.GroupVersion.Group}, Resources: []string{"operatorconditions"},
			ResourceNames: []string{key.Name}, Verbs: []string{"get", "update", "patch"}}},
	})).To(Succeed())
	Expect(admin.Create(ctx, toOperator(key))).To(Succeed())
}

// holding is what the gauge says.
func holding() float64 {
	GinkgoHelper()
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	for _, family := range families {
		if family.GetName() == "mainstay_upgrade_holders" {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	Fail("there is no such gauge")
	return 0
}
