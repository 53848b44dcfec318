package release

import (
	"context"
	"path/filepath"
	"regexp"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/mainstay-operator/mainstay-operator/test/chart"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/olm"
)

// managerImage matches the operator's image in the manifests of the first release's source, which may have another tag than the release:
// its image was built from that source.
var managerImage = regexp.MustCompile(`ghcr\.io/mainstay-operator/mainstay-operator:v[\w.-]+`)

// byKubectl applies the files of a release.
type byKubectl struct{}

func (byKubectl) installFirst(ctx context.Context) {
	GinkgoHelper()
	manifests := kubectl(ctx, "kustomize", filepath.Join(firstSource, "config", "default"))
	Expect(managerImage.MatchString(manifests)).To(BeTrue())
	apply(ctx, managerImage.ReplaceAllLiteralString(manifests, first.Image))
}

func (b byKubectl) upgrade(ctx context.Context) { b.install(ctx) }

func (byKubectl) uninstall(ctx context.Context) {
	GinkgoHelper()
	kubectl(ctx, "delete", "--filename", dist("operator.yaml"), kubectlTimeout)
}

func (byKubectl) install(ctx context.Context) {
	GinkgoHelper()
	kubectl(ctx, "apply", "--server-side", "--filename", dist("install.yaml"))
}

func (b byKubectl) purge(ctx context.Context) {
	GinkgoHelper()
	b.uninstall(ctx)
	deleteCRDs(ctx)
}

// byHelm installs the chart of a release. The first release has no chart: Helm takes over what kubectl has installed.
type byHelm struct{}

func (byHelm) installFirst(ctx context.Context) {
	GinkgoHelper()
	byKubectl{}.installFirst(ctx)
}

func (byHelm) upgrade(ctx context.Context) {
	GinkgoHelper()
	helm(ctx, "install", "mainstay-operator", chartFile(), "--take-ownership", "--force-conflicts", "--wait", kubectlTimeout)
}

func (byHelm) uninstall(ctx context.Context) {
	GinkgoHelper()
	helm(ctx, "uninstall", "mainstay-operator", "--wait", kubectlTimeout)
}

func (byHelm) install(ctx context.Context) {
	GinkgoHelper()
	helm(ctx, "install", "mainstay-operator", chartFile(), "--create-namespace", "--wait", kubectlTimeout)
}

func (b byHelm) purge(ctx context.Context) {
	GinkgoHelper()
	b.uninstall(ctx)
	deleteCRDs(ctx)
	deleteNamespace(ctx)
}

func helm(ctx context.Context, args ...string) {
	GinkgoHelper()
	Expect(chart.Helm(ctx, root, append(args, "--namespace", cluster.OperatorNamespace)...)).To(Succeed())
}

// byOLM subscribes to the catalog of a release. The first release was in no catalog that is published: it gets one here.
type byOLM struct{}

func (byOLM) installFirst(ctx context.Context) {
	GinkgoHelper()
	catalog, err := olm.Publish(ctx, images, first.Bundle)
	Expect(err).NotTo(HaveOccurred())
	serve(ctx, olm.Source(catalog), catalog)
	apply(ctx, olm.Subscription)
	Eventually(olm.Succeeded).WithContext(ctx).WithArguments(k8s, first.Name).Should(Succeed())
}

func (byOLM) upgrade(ctx context.Context) {
	GinkgoHelper()
	catalog := byDigest("mainstay-operator-catalog")
	serve(ctx, olm.ContentSource(catalog), catalog)
	Eventually(olm.Succeeded).WithContext(ctx).WithArguments(k8s, current.Name).Should(Succeed())
}

func (byOLM) uninstall(ctx context.Context) {
	GinkgoHelper()
	kubectl(ctx, "delete", "subscriptions.operators.coreos.com", "--all", "--namespace", olm.Namespace, kubectlTimeout)
	kubectl(ctx, "wait", "--for=delete", "installplan", "--all", "--namespace", olm.Namespace, kubectlTimeout)
	kubectl(ctx, "delete", "clusterserviceversions.operators.coreos.com", "--all", "--namespace", olm.Namespace, kubectlTimeout)
}

func (byOLM) install(ctx context.Context) {
	GinkgoHelper()
	apply(ctx, olm.Subscription)
	Eventually(olm.Succeeded).WithContext(ctx).WithArguments(k8s, current.Name).Should(Succeed())
}

func (b byOLM) purge(ctx context.Context) {
	GinkgoHelper()
	b.uninstall(ctx)
	deleteCRDs(ctx)
	deleteNamespace(ctx)
	kubectl(ctx, "delete", "catalogsource", "mainstay", "--namespace=olm", kubectlTimeout)
}

// serve applies a CatalogSource, and waits until OLM serves the catalog.
func serve(ctx context.Context, source, catalog string) {
	GinkgoHelper()
	apply(ctx, source)
	Eventually(olm.Served).WithContext(ctx).WithArguments(k8s, catalog).Should(Succeed())
}

func deleteCRDs(ctx context.Context) {
	GinkgoHelper()
	kubectl(ctx, "delete", "--filename", dist("crds.yaml"), kubectlTimeout)
}

// deleteNamespace deletes that of the operator, which Helm and OLM leave.
func deleteNamespace(ctx context.Context) {
	GinkgoHelper()
	kubectl(ctx, "delete", "namespace", cluster.OperatorNamespace, kubectlTimeout)
}
