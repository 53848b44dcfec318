package release

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/load"
	"github.com/mainstay-operator/mainstay-operator/test/samples"
)

// way is one of the ways by which users get the operator. Each step is what docs/install.md says.
type way interface {
	// installFirst installs the oldest release that is kept.
	installFirst(ctx context.Context)
	// upgrade brings the release in dist in place of the oldest.
	upgrade(ctx context.Context)
	// uninstall removes the operator alone.
	uninstall(ctx context.Context)
	// install installs the release in dist where no operator is.
	install(ctx context.Context)
	// purge removes the operator and the CRDs, after all objects.
	purge(ctx context.Context)
}

var _ = Describe("A release", func() {
	DescribeTable("upgrades the first one under load, leaves everything when it is uninstalled, and takes it over again",
		func(ctx SpecContext, name string, by way) { live(ctx, name, by) },
		Entry("by kubectl", "kubectl", byKubectl{}, SpecTimeout(specTimeout)),
		Entry("by Helm", "Helm", byHelm{}, SpecTimeout(specTimeout)),
		Entry("by OLM", "OLM", byOLM{}, SpecTimeout(specTimeout)),
	)
})

// live takes the operator through its life.
func live(ctx context.Context, name string, by way) {
	GinkgoHelper()
	DeferCleanup(undeploy, NodeTimeout(eventuallyTimeout))
	times := &timetable{}
	DeferCleanup(func() { AddReportEntry("seconds by "+name, times.String()) })
	namespace := newNamespace(ctx)

	times.step("install "+first.Name, func() {
		by.installFirst(ctx)
		Eventually(cluster.Leads).WithContext(ctx).WithArguments(k8s).Should(Succeed())
	})
	var used *load.Workloads
	times.step("its samples are ready and serve", func() { used = use(ctx, namespace) })
	untouched := func() {
		GinkgoHelper()
		Expect(used.Watch(ctx)).To(Succeed())
	}
	times.step("upgrade to "+current.Name, func() { by.upgrade(ctx); runs(ctx) })
	untouched()
	manages(ctx, namespace)
	times.step("uninstall", func() {
		by.uninstall(ctx)
		Eventually(cluster.Operators).WithContext(ctx).WithArguments(k8s).Should(BeEmpty())
		Eventually(cluster.OperatorRights).WithContext(ctx).WithArguments(k8s).Should(BeEmpty())
	})
	untouched()
	times.step("install again", func() { by.install(ctx); runs(ctx) })
	untouched()
	manages(ctx, namespace)
	untouched()
	used.Stop()
	lost, err := used.Lost(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(lost).To(BeEmpty(), "Redis has confirmed these writes")
	AddReportEntry("requests by "+name+", of which none failed", used.Requests())

	all := newNamespace(ctx)
	times.step("the samples of all kinds are ready", func() { allSamples(ctx, all) })
	times.step("purge", func() {
		// What kubectl remembers of the API server's types may be from before the CRDs.
		kubectl(ctx, "api-resources")
		kubectl(ctx, "delete", "mainstay", "--all-namespaces", "--all", kubectlTimeout)
		by.purge(ctx)
		nothingIsLeft(ctx, namespace, all)
	})
}

// use makes the samples of the first release, waits for them and starts to use them.
func use(ctx context.Context, namespace string) *load.Workloads {
	GinkgoHelper()
	objects := read(filepath.Join(firstSource, "config", "samples"))
	Expect(load.Create(ctx, k8s, namespace, objects)).To(Succeed())
	Eventually(load.Ready).WithContext(ctx).WithArguments(k8s, objects).Should(Succeed())
	used, err := load.Use(ctx, k8s, namespace, objects)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(used.Stop)
	return used
}

// allSamples makes the samples of the release in dist, with their backups, and waits for them.
func allSamples(ctx context.Context, namespace string) {
	GinkgoHelper()
	folder := filepath.Join(root, "config", "samples")
	objects := slices.Concat(read(folder), read(filepath.Join(folder, "backups")))
	Expect(load.Create(ctx, k8s, namespace, objects)).To(Succeed())
	Eventually(load.Ready).WithContext(ctx).WithArguments(k8s, objects).Should(Succeed())
}

func read(folder string) []*unstructured.Unstructured {
	GinkgoHelper()
	objects, err := samples.Read(folder)
	Expect(err).NotTo(HaveOccurred())
	return objects
}

// runs waits until all managers are those of the release in dist, and one of them leads.
func runs(ctx context.Context) {
	GinkgoHelper()
	_, digest, _ := strings.Cut(byDigest("mainstay-operator"), "@")
	Eventually(func(g Gomega) {
		g.Expect(cluster.Leads(ctx, k8s)).To(Succeed())
		pods, err := cluster.Operators(ctx, k8s)
		g.Expect(err).NotTo(HaveOccurred())
		for _, pod := range pods {
			g.Expect(pod.Spec.Containers[0].Image).To(HaveSuffix("@"+digest), pod.Name)
		}
	}).WithContext(ctx).Should(Succeed())
}

// manages shows that the operator manages what is in the namespace: children that do not serve, and were deleted, come back.
func manages(ctx context.Context, namespace string) {
	GinkgoHelper()
	before := budgets(ctx, namespace)
	Expect(before).NotTo(BeEmpty())
	Expect(k8s.DeleteAllOf(ctx, &policyv1.PodDisruptionBudget{}, client.InNamespace(namespace))).To(Succeed())
	Eventually(func(g Gomega) {
		now := budgets(ctx, namespace)
		for name, former := range before {
			g.Expect(now).To(HaveKeyWithValue(name, Not(Equal(former))))
		}
	}).WithContext(ctx).Should(Succeed())
}

// budgets are the PodDisruptionBudgets of a namespace.
func budgets(ctx context.Context, namespace string) map[string]types.UID {
	GinkgoHelper()
	var list policyv1.PodDisruptionBudgetList
	Expect(k8s.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
	found := map[string]types.UID{}
	for _, budget := range list.Items {
		found[budget.Name] = budget.UID
	}
	return found
}

// nothingIsLeft waits until the namespaces have nothing of the operator but volumes, and the cluster has nothing at all.
func nothingIsLeft(ctx context.Context, namespaces ...string) {
	GinkgoHelper()
	Eventually(cluster.Operators).WithContext(ctx).WithArguments(k8s).Should(BeEmpty())
	Eventually(cluster.OperatorRights).WithContext(ctx).WithArguments(k8s).Should(BeEmpty())
	Eventually(cluster.CRDs).WithContext(ctx).WithArguments(k8s).Should(BeEmpty())
	for _, namespace := range namespaces {
		Eventually(cluster.Kubectl).WithContext(ctx).WithArguments("get", "all,configmaps,secrets,poddisruptionbudgets,ingresses",
			"--namespace", namespace, "--selector=app.kubernetes.io/managed-by=mainstay-operator", "--output=name").Should(BeEmpty())
	}
}
