// Package olm has a real OLM install, upgrade and remove the operator, while its
// objects serve.
//
// It needs KUBECONFIG, the cluster of hack/cluster with OLM on it, and no operator
// yet, as make olm-e2e arranges.
package olm

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/olm"
	"github.com/mainstay-operator/mainstay-operator/test/registry"
)

// eventuallyTimeout is for one change of what runs. OLM looks again every so often, and on a slow machine it was seen to take minutes
// for an upgrade.
const eventuallyTimeout = 10 * time.Minute

var (
	// k8s is an administrator's client, without a cache.
	k8s client.Client
	// images is where catalogs are published.
	images registry.Registry
)

func TestOLM(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Mainstay Operator under OLM")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	SetDefaultEventuallyTimeout(eventuallyTimeout)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	Expect(cluster.Local()).To(BeTrue(), "its images are where only the cluster of hack/cluster finds them: CLUSTER=local")
	_, c, err := cluster.Dial()
	Expect(err).NotTo(HaveOccurred())
	k8s = c
	Expect(operators.AddToScheme(k8s.Scheme())).To(Succeed())
	Expect(operatorsv1.AddToScheme(k8s.Scheme())).To(Succeed())
	images, err = registry.Open(ctx)
	Expect(err).NotTo(HaveOccurred())
})

// newNamespace is there until the spec has ended.
func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	fresh := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "olm-e2e-"}}
	Expect(k8s.Create(ctx, fresh)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		if spec := CurrentSpecReport(); spec.Failed() {
			GinkgoWriter.Print(cluster.Diagnose(ctx, fresh.Name, spec.StartTime), describeOLM(ctx))
		}
		Expect(client.IgnoreNotFound(k8s.Delete(ctx, fresh))).To(Succeed())
	})
	return fresh.Name
}

// describeOLM returns what OLM reports.
func describeOLM(ctx context.Context) string {
	report := ""
	for _, question := range [][]string{
		{"get", "catalogsources,subscriptions,installplans,clusterserviceversions,operatorconditions", "--all-namespaces", "--output=yaml"},
		{"logs", "--namespace=olm", "deployment/olm-operator", "--tail=60"},
		{"logs", "--namespace=olm", "deployment/catalog-operator", "--tail=60"},
	} {
		answer, err := cluster.Kubectl(ctx, question...)
		report += fmt.Sprintf("\n--- kubectl %v: %v\n%s\n", question, err, answer)
	}
	return report
}

// succeeds waits until OLM says that the release runs, and gives how long it took.
func succeeds(ctx context.Context, r olm.Release) time.Duration {
	GinkgoHelper()
	start := time.Now()
	Eventually(olm.Succeeded).WithContext(ctx).WithArguments(k8s, r.Name).Should(Succeed())
	Eventually(cluster.Leads).WithContext(ctx).WithArguments(k8s).Should(Succeed())
	return time.Since(start)
}
