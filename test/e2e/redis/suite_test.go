// Package redis breaks Redis on a real cluster, fault by fault, while an
// application writes, and reports what the application noticed.
//
// It needs KUBECONFIG, a deployed operator, and a Kubernetes node that is this machine, as
// hack/cluster makes it. With LONG set there are hundreds of faults instead of
// some; rows with runs: 0 are left out of a short report, unless FOCUS names them, and those among thousands of objects always.
// The one among 10,000 needs both: LONG and a FOCUS that names the number.
// REPORT names a file for the report.
//
// Specs run in three processes, each with its Redis objects, but for those that break what all of these share.
// Figures to quote come from a long report, which has one process: nothing else happens meanwhile.
package redis

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/mainstay-operator/mainstay-operator/test/cluster"
)

// eventuallyTimeout is how long a Redis may take to be whole again.
const eventuallyTimeout = 3 * time.Minute

var (
	// k8s is an administrator's client, without a cache.
	k8s client.Client
	// clients are for watching.
	clients *kubernetes.Clientset
)

func TestFailovers(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Redis under faults")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	SetDefaultEventuallyTimeout(eventuallyTimeout)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	Expect(cluster.Local()).To(BeTrue(), "the faults need the node's processes: CLUSTER=local")
	config, c, err := cluster.Connect(ctx)
	Expect(err).NotTo(HaveOccurred())
	k8s = c
	log.SetLogger(logr.Discard()) // of the simulated node
	clients, err = kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	Eventually(cluster.Leads).WithContext(ctx).WithArguments(k8s).Should(Succeed())
})

var _ = AfterSuite(func(ctx SpecContext) { discardShared(ctx) })

// newNamespace is there until the spec has ended, or shorter when it is removed before.
func newNamespace(ctx context.Context) *corev1.Namespace {
	GinkgoHelper()
	fresh := createNamespace(ctx)
	DeferCleanup(func(ctx context.Context) {
		if spec := CurrentSpecReport(); spec.Failed() {
			GinkgoWriter.Print(cluster.Diagnose(ctx, fresh.Name, spec.StartTime))
		}
		Expect(client.IgnoreNotFound(k8s.Delete(ctx, fresh))).To(Succeed())
	})
	return fresh
}

// createNamespace makes one that stays until somebody removes it.
func createNamespace(ctx context.Context) *corev1.Namespace {
	GinkgoHelper()
	fresh := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "failover-"}}
	Expect(k8s.Create(ctx, fresh)).To(Succeed())
	return fresh
}
