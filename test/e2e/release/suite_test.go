// Package release has users' tools install, upgrade, uninstall and purge the operator from the files of a release, while its objects serve.
//
// It needs KUBECONFIG, the cluster of hack/cluster with OLM on it and no operator yet, a release in dist, and the release's images in the
// registry of hack/cluster, where the node looks for images of ghcr.io alone: as make release-e2e arranges.
package release

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/olm"
	"github.com/mainstay-operator/mainstay-operator/test/registry"
)

const (
	// eventuallyTimeout is for one change of what runs, on a slow machine.
	eventuallyTimeout = 10 * time.Minute
	// specTimeout is for all changes of a spec, which take much less each.
	specTimeout = 40 * time.Minute
	// kubectlTimeout is for what kubectl waits for, as text.
	kubectlTimeout = "--timeout=5m"
)

var (
	// k8s is an administrator's client, without a cache.
	k8s client.Client
	// images is where the catalog of the first release is published.
	images registry.Registry
	// root of the checkout.
	root string
	// first is the oldest release that is kept, and firstSource the folder of its source.
	first       olm.Release
	firstSource string
	// current is the release in dist.
	current olm.Release
)

func TestRelease(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "A release of the Mainstay Operator")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	SetDefaultEventuallyTimeout(eventuallyTimeout)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	Expect(cluster.Local()).To(BeTrue(), "its images are where only the cluster of hack/cluster finds them: CLUSTER=local")
	var err error
	_, k8s, err = cluster.Dial()
	Expect(err).NotTo(HaveOccurred())
	Expect(operators.AddToScheme(k8s.Scheme())).To(Succeed())
	root, err = cluster.Root()
	Expect(err).NotTo(HaveOccurred())
	current, err = olm.Current(root)
	Expect(err).NotTo(HaveOccurred())
	Expect(chartFile()).To(BeARegularFile(), "make release writes it")
	images, err = registry.Open(ctx)
	Expect(err).NotTo(HaveOccurred())

	first, err = olm.Oldest(root)
	Expect(err).NotTo(HaveOccurred())
	folder := GinkgoT().TempDir()
	manager, err := first.Build(ctx, root, folder)
	Expect(err).NotTo(HaveOccurred())
	Expect(first.Load(ctx, root, manager)).To(Succeed())
	firstSource = first.Source(root, folder)
})

// dist is the path of a file of the release.
func dist(name string) string { return filepath.Join(root, "dist", name) }

func chartFile() string { return dist("mainstay-operator-" + current.Version() + ".tgz") }

// byDigest returns the reference by digest that images.txt has of an image of the release.
func byDigest(name string) string {
	GinkgoHelper()
	content, err := os.ReadFile(dist("images.txt"))
	Expect(err).NotTo(HaveOccurred())
	found := regexp.MustCompile(`(?m)^\S+/`+regexp.QuoteMeta(name)+`@sha256:[0-9a-f]{64}$`).FindAllString(string(content), -1)
	Expect(found).To(HaveLen(1), "images.txt must name %s once by digest", name)
	return found[0]
}

func kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	answer, err := cluster.Kubectl(ctx, args...)
	Expect(err).NotTo(HaveOccurred())
	return answer
}

// apply manifests, which are no file of the release.
func apply(ctx context.Context, manifests string) {
	GinkgoHelper()
	Expect(cluster.Apply(ctx, manifests)).To(Succeed())
}

// newNamespace is there until the spec has ended.
func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	fresh := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "release-e2e-"}}
	Expect(k8s.Create(ctx, fresh)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		if spec := CurrentSpecReport(); spec.Failed() {
			GinkgoWriter.Print(cluster.Diagnose(ctx, fresh.Name, spec.StartTime))
		}
		Expect(cluster.DeleteNamespaces(ctx, k8s, eventuallyTimeout, fresh.Name)).To(Succeed())
	}, NodeTimeout(2*eventuallyTimeout))
	return fresh.Name
}

// undeploy removes what a spec that failed has left, so that the next one starts without an operator.
func undeploy(ctx SpecContext) {
	if !CurrentSpecReport().Failed() {
		return
	}
	command := exec.CommandContext(ctx, "go", "run", "./hack/demo", "undeploy")
	command.Dir = root
	said, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s", said)
}

// timetable notes how long each step of a spec takes.
type timetable struct{ rows []string }

// step does something, and notes how long it took.
func (t *timetable) step(name string, do func()) {
	GinkgoHelper()
	By(name)
	start := time.Now()
	do()
	t.rows = append(t.rows, fmt.Sprintf("%6.1f s  %s", time.Since(start).Seconds(), name))
}

func (t *timetable) String() string { return "\n" + strings.Join(t.rows, "\n") }
