package helm

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/test/chart"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
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
		Expect(arrived(ctx, objects)).To(Succeed())
		Expect(containers(ctx, namespace)).To(Equal(before), "a pod was replaced or restarted")
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
		Expect(rights(ctx)).To(BeEmpty())
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
		Eventually(arrived).WithContext(ctx).WithArguments(objects).Should(Succeed())
		var err error
		before, err = containers(ctx, namespace)
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
		Expect(rights(ctx)).To(BeEmpty())
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
		Eventually(containers).WithContext(ctx).WithArguments(namespace).Should(BeEmpty())
		remove(ctx)
		names := crds(ctx)
		Expect(names).NotTo(BeEmpty())
		_, err = cluster.Kubectl(ctx, append([]string{"delete", "customresourcedefinitions", "--timeout=2m"}, names...)...)
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
	for _, obj := range objects {
		obj.SetNamespace(namespace)
		Expect(k8s.Create(ctx, obj)).To(Succeed())
	}
	return objects
}

// arrived is nil when every object is what its spec asks for.
func arrived(ctx context.Context, objects []*unstructured.Unstructured) error {
	var faults []error
	for _, obj := range objects {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		if phase, words := samples.PhaseOf(obj); phase != samples.Ready {
			faults = append(faults, fmt.Errorf("%s %s: %s", obj.GetKind(), obj.GetName(), words))
		}
	}
	return errors.Join(faults...)
}

// containers returns the running container of each pod in a namespace, but for the pod of helm test.
func containers(ctx context.Context, namespace string) (map[string]string, error) {
	var pods corev1.PodList
	err := k8s.List(ctx, &pods, client.InNamespace(namespace), client.HasLabels{"app.kubernetes.io/instance"})
	found := map[string]string{}
	for _, pod := range pods.Items {
		for _, s := range pod.Status.ContainerStatuses {
			found[pod.Name+" "+s.Name] = s.ContainerID
		}
	}
	return found, err
}

// rights are the rights on the cluster that the operator has.
func rights(ctx context.Context) ([]string, error) {
	var bindings rbacv1.ClusterRoleBindingList
	err := k8s.List(ctx, &bindings)
	var names []string
	for _, binding := range bindings.Items {
		if strings.HasPrefix(binding.Name, "mainstay-operator") {
			names = append(names, binding.Name)
		}
	}
	return names, err
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

// crds are the names of the operator's CRDs.
func crds(ctx context.Context) []string {
	GinkgoHelper()
	var list apiextensionsv1.CustomResourceDefinitionList
	Expect(k8s.List(ctx, &list)).To(Succeed())
	var names []string
	for _, crd := range list.Items {
		if strings.HasSuffix(crd.Spec.Group, ".mainstay-operator.io") {
			names = append(names, crd.Name)
		}
	}
	return names
}

// shortNames are those of the CRD of Redis.
func shortNames(ctx context.Context) ([]string, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	err := k8s.Get(ctx, client.ObjectKey{Name: "redis.cache.mainstay-operator.io"}, &crd)
	return crd.Spec.Names.ShortNames, err
}
