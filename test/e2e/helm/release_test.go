package helm

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/test/chart"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/load"
	"github.com/mainstay-operator/mainstay-operator/test/samples"
)

// sampled are the kinds whose samples serve meanwhile.
var sampled = []string{"EasyService", "Memcached", "Redis"}

var _ = Describe("Helm", Ordered, func() {
	var (
		folder    string
		namespace string
		objects   []*unstructured.Unstructured
		before    map[string]string
	)
	// The objects are there, and served by the very same containers.
	untouched := func(ctx context.Context) {
		GinkgoHelper()
		Expect(load.Ready(ctx, k8s, objects)).To(Succeed())
		Expect(load.Pods(ctx, k8s, namespace)).To(Equal(before), "a pod was replaced or restarted, or has another role")
	}
	install := func(ctx context.Context, folder string, more ...string) {
		GinkgoHelper()
		helm(ctx, append([]string{"upgrade", "--install", release, folder, "--create-namespace", "--reset-values", "--wait", "--timeout=3m"},
			more...)...)
		Eventually(cluster.Leads).WithContext(ctx).WithArguments(k8s).Should(Succeed())
	}
	remove := func(ctx context.Context) {
		GinkgoHelper()
		helm(ctx, "uninstall", release, "--wait", "--timeout=3m")
		Eventually(cluster.Operators).WithContext(ctx).WithArguments(k8s).Should(BeEmpty())
		Expect(cluster.OperatorRights(ctx, k8s)).To(BeEmpty())
	}

	BeforeAll(func(ctx SpecContext) {
		Expect(apiextensionsv1.AddToScheme(k8s.Scheme())).To(Succeed())
		folder = filepath.Join(root, "config", "helm")
		namespace = newNamespace(ctx)
	})
	AfterEach(func(ctx SpecContext) {
		if spec := CurrentSpecReport(); spec.Failed() {
			GinkgoWriter.Print(cluster.Diagnose(ctx, namespace, spec.StartTime))
		}
	})

	It("installs an older chart, whose test succeeds, and the samples serve", func(ctx SpecContext) {
		older := filepath.Join(GinkgoT().TempDir(), "older")
		Expect(chart.WriteOlder(folder, older)).To(Succeed())
		install(ctx, older)
		helm(ctx, "test", release, "--timeout=2m")
		Expect(shortNames(ctx)).NotTo(ContainElement(chart.RedisShortName))
		objects = create(ctx, namespace)
		Eventually(load.Ready).WithContext(ctx).WithArguments(k8s, objects).Should(Succeed())
		var err error
		before, err = load.Pods(ctx, k8s, namespace)
		Expect(err).NotTo(HaveOccurred())
	}, SpecTimeout(6*eventuallyTimeout))

	It("upgrades the operator and its CRDs, and touches no pod", func(ctx SpecContext) {
		install(ctx, folder)
		Expect(shortNames(ctx)).To(ContainElement(chart.RedisShortName))
		helm(ctx, "test", release, "--timeout=2m")
		untouched(ctx)
	}, SpecTimeout(2*eventuallyTimeout))

	It("manages the namespaces that the values name, with rights in these alone", func(ctx SpecContext) {
		install(ctx, folder, "--set=watchNamespaces={"+namespace+"}")
		helm(ctx, "test", release, "--timeout=2m")
		untouched(ctx)
		Expect(may(ctx, namespace)).To(BeTrue())
		Expect(may(ctx, "default")).To(BeFalse())
	}, SpecTimeout(2*eventuallyTimeout))

	It("manages its own namespace without rights on the cluster, and leaves the CRDs", func(ctx SpecContext) {
		install(ctx, folder, "--set=scope=Namespace")
		helm(ctx, "test", release, "--timeout=2m")
		untouched(ctx)
		Expect(cluster.OperatorRights(ctx, k8s)).To(BeEmpty())
	}, SpecTimeout(2*eventuallyTimeout))

	It("leaves CRDs, objects and pods when it is uninstalled, and manages them again", func(ctx SpecContext) {
		remove(ctx)
		untouched(ctx)
		install(ctx, folder)
		helm(ctx, "test", release, "--timeout=2m")
		untouched(ctx)
	}, SpecTimeout(3*eventuallyTimeout))

	It("takes over an operator that kubectl has installed", func(ctx SpecContext) {
		remove(ctx)
		_, err := cluster.Kubectl(ctx, "apply", "--server-side", "--force-conflicts", "--kustomize", filepath.Join(root, "config", "default"))
		Expect(err).NotTo(HaveOccurred())
		Eventually(cluster.Leads).WithContext(ctx).WithArguments(k8s).Should(Succeed())
		install(ctx, folder, "--take-ownership", "--force-conflicts")
		helm(ctx, "test", release, "--timeout=2m")
		untouched(ctx)
	}, SpecTimeout(3*eventuallyTimeout))

	It("is purged in three steps", func(ctx SpecContext) {
		_, err := cluster.Kubectl(ctx, "delete", "mainstay", "--all-namespaces", "--all", "--timeout=2m")
		Expect(err).NotTo(HaveOccurred())
		Eventually(load.Pods).WithContext(ctx).WithArguments(k8s, namespace).Should(BeEmpty())
		remove(ctx)
		names, err := cluster.CRDs(ctx, k8s)
		Expect(err).NotTo(HaveOccurred())
		Expect(names).NotTo(BeEmpty())
		_, err = cluster.Kubectl(ctx, append([]string{"delete", "--timeout=2m"}, names...)...)
		Expect(err).NotTo(HaveOccurred())
	}, SpecTimeout(2*eventuallyTimeout))
})

// create the samples in a namespace.
func create(ctx context.Context, namespace string) []*unstructured.Unstructured {
	GinkgoHelper()
	objects, err := samples.Read(filepath.Join(root, "config", "samples"))
	Expect(err).NotTo(HaveOccurred())
	objects = slices.DeleteFunc(objects, func(obj *unstructured.Unstructured) bool { return !slices.Contains(sampled, obj.GetKind()) })
	Expect(len(objects)).To(BeNumerically(">=", len(sampled)))
	Expect(load.Create(ctx, k8s, namespace, objects)).To(Succeed())
	return objects
}

// may reports whether the operator may list Secrets in a namespace.
func may(ctx context.Context, namespace string) bool {
	GinkgoHelper()
	// It fails if the answer is no.
	answer, _ := cluster.Kubectl(ctx, "auth", "can-i", "list", "secrets", "--namespace", namespace, "--as", cluster.OperatorUser)
	_, err := cluster.Kubectl(ctx, "auth", "can-i", "list", "secrets", "--namespace", namespace)
	Expect(err).NotTo(HaveOccurred())
	return strings.TrimSpace(answer) == "yes"
}

// shortNames are those of the CRD of Redis.
func shortNames(ctx context.Context) ([]string, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	err := k8s.Get(ctx, client.ObjectKey{Name: "redis.cache.mainstay-operator.io"}, &crd)
	return crd.Spec.Names.ShortNames, err
}
