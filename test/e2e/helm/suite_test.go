// Package helm has Helm install, upgrade and remove the operator, while its objects serve.
//
// It needs KUBECONFIG, the cluster of hack/cluster, and no operator yet, as make helm-e2e arranges.
package helm

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/test/chart"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/olm"
)

const (
	// release is the name that the pages give the release.
	release = "mainstay-operator"
	// eventuallyTimeout is long enough for two managers to start one after the other.
	eventuallyTimeout = 3 * time.Minute
)

var (
	// k8s is an administrator's client, without a cache.
	k8s client.Client
	// root of the checkout.
	root string
)

func TestHelm(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Mainstay Operator under Helm")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	SetDefaultEventuallyTimeout(eventuallyTimeout)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	Expect(cluster.Local()).To(BeTrue(), "the operator's image is where only the cluster of hack/cluster finds it: CLUSTER=local")
	var err error
	_, k8s, err = cluster.Dial()
	Expect(err).NotTo(HaveOccurred())
	root, err = cluster.Root()
	Expect(err).NotTo(HaveOccurred())
	current, err := olm.Current(root)
	Expect(err).NotTo(HaveOccurred())
	manager, err := current.Build(ctx, root, GinkgoT().TempDir())
	Expect(err).NotTo(HaveOccurred())
	Expect(current.Load(ctx, root, manager)).To(Succeed())
})

// helm runs Helm on the release's namespace.
func helm(ctx context.Context, args ...string) {
	GinkgoHelper()
	Expect(chart.Helm(ctx, root, append(args, "--namespace", cluster.OperatorNamespace)...)).To(Succeed())
}

// newNamespace is there until the specs have ended.
func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	fresh := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "helm-e2e-"}}
	Expect(k8s.Create(ctx, fresh)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		Expect(client.IgnoreNotFound(k8s.Delete(ctx, fresh))).To(Succeed())
	})
	return fresh.Name
}
