package olm

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/test/audit"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/olm"
)

// watchTime is how long the workloads are watched after a change of the operator: a new leader looks at each object at once.
const watchTime = 5 * time.Second

var _ = Describe("OLM", Ordered, func() {
	var (
		w         *workloads
		first     olm.Release
		second    olm.Release
		before    map[string]string
		epoch     int64
		untouched = func(ctx context.Context, still ...func() error) {
			GinkgoHelper()
			served := w.counts()
			Consistently(func(g Gomega) {
				g.Expect(w.unharmed(nil)).To(Succeed())
				for _, so := range still {
					g.Expect(so()).To(Succeed())
				}
			}).WithTimeout(watchTime).Should(Succeed())
			Expect(w.unharmed(served)).To(Succeed())
			Expect(w.pods(ctx)).To(Equal(before), "a pod was replaced, restarted, or has another role")
			Expect(w.redis(ctx).Status.Epoch).To(Equal(epoch), "another master")
			Expect(w.arrived(ctx)).To(Succeed())
		}
	)

	It("installs the last release from its catalog, and its objects serve", func(ctx SpecContext) {
		first, _ = loaded(ctx, olm.Previous)
		offer(ctx, first)
		AddReportEntry("install", succeeds(ctx, first).String())
	}, SpecTimeout(6*time.Minute))

	It("upgrades it under load, and no workload notices", func(ctx SpecContext) {
		sufficient(func() { w = newWorkloads(ctx) })
		before, epoch = w.pods(ctx), w.redis(ctx).Status.Epoch
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
		Eventually(func() ([]string, error) {
			pods, err := cluster.Operators(ctx, k8s)
			names := make([]string, 0, len(pods))
			for _, pod := range pods {
				names = append(names, pod.Name)
			}
			return names, err
		}).WithContext(ctx).Should(BeEmpty())
		Eventually(left).WithContext(ctx).Should(BeEmpty())
		untouched(ctx)

		By("installing it again")
		offer(ctx, first, second, third)
		AddReportEntry("install again", succeeds(ctx, third).String())
		untouched(ctx)
		w.stop()
		lost, err := w.writer.Lost(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(lost).To(BeEmpty())
	}, SpecTimeout(12*time.Minute))

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
	}, SpecTimeout(6*time.Minute))
})

// plans are those by which OLM installs, which go with their Subscription.
func plans(ctx context.Context) ([]operators.InstallPlan, error) {
	var list operators.InstallPlanList
	err := k8s.List(ctx, &list, client.InNamespace(olm.Namespace))
	return list.Items, err
}

// left are the rights on the cluster that the operator had.
func left(ctx context.Context) ([]string, error) {
	var roles rbacv1.ClusterRoleList
	err := k8s.List(ctx, &roles)
	var names []string
	for _, role := range roles.Items {
		if strings.HasPrefix(role.Name, "mainstay-operator") {
			names = append(names, role.Name)
		}
	}
	return names, err
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
