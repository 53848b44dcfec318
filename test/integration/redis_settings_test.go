package integration

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

var _ = Describe("Redis' settings", func() {
	const settled = commonv1.ConditionSettingsInSync
	var (
		namespace string
		o         *operator
		obj       *cachev1alpha1.Redis
		servers   map[string]*redisServer
	)
	set := func(ctx context.Context, change func(config map[string]cachev1alpha1.RedisConfigValue)) {
		GinkgoHelper()
		update(ctx, obj, func(o client.Object) {
			spec := &o.(*cachev1alpha1.Redis).Spec
			if spec.Config == nil {
				spec.Config = map[string]cachev1alpha1.RedisConfigValue{}
			}
			change(spec.Config)
		})
	}
	file := func(ctx context.Context) string {
		GinkgoHelper()
		var files corev1.Secret
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "a-files"}, &files)).To(Succeed())
		return string(files.Data["redis.conf"])
	}
	template := func(ctx context.Context) corev1.PodTemplateSpec {
		GinkgoHelper()
		var nodes appsv1.StatefulSet
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "a"}, &nodes)).To(Succeed())
		return nodes.Spec.Template
	}
	stand := func(ctx context.Context, kind string, status metav1.ConditionStatus, reason string) {
		GinkgoHelper()
		Eventually(checkCondition).WithArguments(ctx, obj, kind, status, reason).Should(Succeed())
	}

	BeforeEach(func(ctx SpecContext) {
		namespace = newNamespace(ctx)
		o = operate(namespace)
		obj = builders.Redis("a").Size(2).MinReplicas(0).Config("maxmemory-policy", "nonsense").Build()
		obj.Namespace = namespace
		Expect(admin.Create(ctx, obj)).To(Succeed())
		servers = serve(ctx, namespace, "a", 2)
		Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionFailoverPossible, metav1.ConditionTrue).Should(Succeed())
	})
	AfterEach(func() {
		for _, s := range servers {
			s.stop()
		}
	})

	It("are refused by name from the first start on, break nothing, and recover when fixed", func(ctx SpecContext) {
		stand(ctx, settled, metav1.ConditionFalse, commonv1.ReasonInvalidSpec)
		stand(ctx, commonv1.ConditionDegraded, metav1.ConditionTrue, commonv1.ReasonInvalidSpec)
		read, err := live(ctx, obj)
		Expect(err).NotTo(HaveOccurred())
		Expect(conditionOf(read, commonv1.ConditionDegraded).Message).To(And(
			ContainSubstring("config.maxmemory-policy"), ContainSubstring("volatile-lru"), ContainSubstring(`"nonsense"`)))
		before := template(ctx)

		By("another directive meanwhile, and a restart of the operator and of a server")
		set(ctx, func(c map[string]cachev1alpha1.RedisConfigValue) { c["hz"] = "20" })
		Eventually(file).WithArguments(ctx).Should(ContainSubstring(`hz "20"`))
		stand(ctx, settled, metav1.ConditionFalse, commonv1.ReasonInvalidSpec)
		waitForRest(o)
		o.stop()
		o = operate(namespace)
		stand(ctx, settled, metav1.ConditionFalse, commonv1.ReasonInvalidSpec)
		Expect(file(ctx)).NotTo(ContainSubstring("nonsense"), "a server that starts would fail")
		for _, s := range servers {
			s.stop()
			s.mount(ctx, namespace, "a")
			s.start()
		}

		By("a good value")
		set(ctx, func(c map[string]cachev1alpha1.RedisConfigValue) { c["maxmemory-policy"] = "allkeys-lru" })
		stand(ctx, settled, metav1.ConditionTrue, commonv1.ReasonSettingsApplied)
		stand(ctx, commonv1.ConditionDegraded, metav1.ConditionFalse, commonv1.ReasonAsExpected)
		Expect(file(ctx)).To(ContainSubstring(`maxmemory-policy "allkeys-lru"`))
		Expect(template(ctx)).To(Equal(before), "no pod is replaced")
		waitForRoles(ctx, obj)
		waitForRest(o)
		o.stop()
		o = operate(namespace)
		Consistently(o.Calls).WithArguments(func(c fault.Call) bool { return writes(c) && work(c) }).Should(BeEmpty())
	})

	It("that only a start reads, and those taken out, take new pods", func(ctx SpecContext) {
		set(ctx, func(c map[string]cachev1alpha1.RedisConfigValue) { delete(c, "maxmemory-policy"); c["hz"] = "20" })
		stand(ctx, settled, metav1.ConditionTrue, commonv1.ReasonSettingsApplied)
		before := template(ctx)
		set(ctx, func(c map[string]cachev1alpha1.RedisConfigValue) { c["databases"] = "32" })
		Eventually(template).WithArguments(ctx).ShouldNot(Equal(before))
		Expect(file(ctx)).To(ContainSubstring(`databases "32"`))
		before = template(ctx)
		paused := func(is bool) {
			GinkgoHelper()
			update(ctx, obj, func(o client.Object) { o.(*cachev1alpha1.Redis).Spec.Paused = is })
		}
		paused(true)
		set(ctx, func(c map[string]cachev1alpha1.RedisConfigValue) { delete(c, "hz") })
		stand(ctx, commonv1.ConditionReady, metav1.ConditionFalse, commonv1.ReasonSpecPaused)
		Expect(template(ctx)).To(Equal(before))
		paused(false)
		Eventually(template).WithArguments(ctx).ShouldNot(Equal(before))
		Expect(file(ctx)).NotTo(ContainSubstring("hz"))
	})
})
