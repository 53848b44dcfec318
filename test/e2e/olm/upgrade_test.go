package olm

import (
	"context"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/test/audit"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/load"
	"github.com/mainstay-operator/mainstay-operator/test/olm"
)

var _ = Describe("OLM", Ordered, func() {
	var (
		w         *load.Workloads
		first     olm.Release
		second    olm.Release
		untouched = func(ctx context.Context, others ...func() error) {
			GinkgoHelper()
			Expect(w.Watch(ctx, others...)).To(Succeed())
		}
	)

	It("installs the last release from its catalog, and its objects serve", func(ctx SpecContext) {
		first, _ = loaded(ctx, olm.Previous)
		offer(ctx, first)
		AddReportEntry("install", succeeds(ctx, first).String())
	}, SpecTimeout(2*eventuallyTimeout))

	It("upgrades it under load, and no workload notices", func(ctx SpecContext) {
		sufficient(func() { w = newWorkloads(ctx) })
		var manager string
		second, manager = loaded(ctx, olm.Current)
		offer(ctx, first, second)
		AddReportEntry("upgrade", succeeds(ctx, second).String())
		untouched(ctx)

		By("an upgrade while a switchover is stuck")
		var letGo func(context.Context)
		sufficient(func() { letGo = stuck(ctx) })
		third := next(ctx, second, manager)
		offer(ctx, first, second, third)
		Eventually(held).WithContext(ctx).WithArguments(third).Should(Succeed())
		untouched(ctx, func() error { return held(ctx, third) })
		letGo(ctx)
		AddReportEntry("upgrade, once it is let go", succeeds(ctx, third).String())
		untouched(ctx)

		By("an upgrade to one that cannot start")
		fourth := next(ctx, third, broken())
		offer(ctx, first, second, third, fourth)
		Eventually(func(g Gomega) {
			g.Expect(olm.Succeeded(ctx, k8s, fourth.Name)).To(MatchError(ContainSubstring("is ")))
			pods, err := cluster.Operators(ctx, k8s)
			g.Expect(err).NotTo(HaveOccurred())
			failing := false
			for _, pod := range pods {
				for _, s := range pod.Status.ContainerStatuses {
					failing = failing || s.RestartCount > 0
				}
			}
			g.Expect(failing).To(BeTrue(), "no manager has failed to start")
		}).WithContext(ctx).Should(Succeed())
		untouched(ctx)

		By("taking it back from the catalog, and removing the operator")
		offer(ctx, first, second, third)
		Expect(k8s.DeleteAllOf(ctx, &operators.Subscription{}, client.InNamespace(olm.Namespace))).To(Succeed())
		// OLM executes an unfinished plan every 5 s: it would recreate the rights that go with the ClusterServiceVersion.
		Eventually(plans).WithContext(ctx).Should(BeEmpty())
		Expect(k8s.DeleteAllOf(ctx, &operators.ClusterServiceVersion{}, client.InNamespace(olm.Namespace))).To(Succeed())
		Eventually(cluster.Operators).WithContext(ctx).WithArguments(k8s).Should(BeEmpty())
		Eventually(cluster.OperatorRights).WithContext(ctx).WithArguments(k8s).Should(BeEmpty())
		untouched(ctx)

		By("installing it again")
		offer(ctx, first, second, third)
		AddReportEntry("install again", succeeds(ctx, third).String())
		untouched(ctx)
		w.Stop()
		lost, err := w.Lost(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(lost).To(BeEmpty())
	}, SpecTimeout(3*eventuallyTimeout))

	It("looks after the namespaces of its OperatorGroup and no others", func(ctx SpecContext) {
		first, second, other := newNamespace(ctx), newNamespace(ctx), newNamespace(ctx)
		By("its own")
		setTargetNamespaces(ctx, olm.Namespace)
		looksAfter(ctx, []string{olm.Namespace}, []string{other})
		By("a single other")
		setTargetNamespaces(ctx, first)
		looksAfter(ctx, []string{first}, []string{second})
		By("several")
		setTargetNamespaces(ctx, second, other)
		looksAfter(ctx, []string{second, other}, nil)
	}, SpecTimeout(2*eventuallyTimeout))
})

// plans are those by which OLM installs, which go with their Subscription.
func plans(ctx context.Context) ([]operators.InstallPlan, error) {
	var list operators.InstallPlanList
	err := k8s.List(ctx, &list, client.InNamespace(olm.Namespace))
	return list.Items, err
}

// sufficient are the rights that OLM has given the operator, for what is done.
func sufficient(do func()) {
	GinkgoHelper()
	root, err := cluster.Root()
	Expect(err).NotTo(HaveOccurred())
	log := audit.Log{Path: filepath.Join(root, ".cluster", "log", "audit.log")}
	start, err := log.Now()
	Expect(err).NotTo(HaveOccurred())
	do()
	ours, err := log.By(cluster.OperatorUser, start)
	Expect(err).NotTo(HaveOccurred())
	Expect(ours).NotTo(BeEmpty())
	Expect(audit.Matching(ours, func(r audit.Request) bool { return r.Forbidden })).To(BeEmpty())
}
