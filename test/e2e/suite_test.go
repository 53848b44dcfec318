// Package e2e watches the deployed operator on a real cluster with real pods.
//
// It needs KUBECONFIG and a deployed operator. With CLUSTER=existing the specs
// that only the cluster of hack/cluster can host, those labelled faults, are
// left out. So are those whose SemVerConstraint the cluster's version of Kubernetes does not meet.
//
// Specs run in several processes at once, each spec in a namespace of its own. Serial are
// those that take the operator, the node or the API server away from the others, that
// count what is asked of the API server, or that claim what only a calm machine can hold.
// Those labelled away have operators of their own, each for one namespace: make e2e runs
// them after the others, side by side as well, while the deployed operator is away.
package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/mainstay-operator/mainstay-operator/test/audit"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/traffic"
)

const (
	// faults labels specs that need the cluster of hack/cluster: its audit log,
	// its node's processes or network.
	faults = "faults"
	// away labels specs that run operators of their own, and no others in parallel to those.
	away = "away"
	// long labels specs that run when LONG is set: each takes minutes, and keeps a process from the others.
	long = "long"
	// upgrade labels specs that replace the managers of the last release by those that are deployed.
	upgrade = "upgrade"
	// longest marks specs to start with: a long one that starts last would be waited for.
	longest = SpecPriority(1)
	// eventuallyTimeout is how long a change may take to come about, images at hand, while other
	// specs keep the machine busy.
	eventuallyTimeout = 8 * time.Minute
	// namespaceLabel marks the namespaces that specs have made.
	namespaceLabel = "mainstay-e2e"
)

var (
	// k8s is an administrator's client, without a cache.
	k8s client.Client
	// config is what k8s is made of.
	config *rest.Config
	// network reaches Services, from the node or through the API server.
	network traffic.Network
	// namespace is created for every spec, and removed after it.
	namespace string
	// start is where the audit log was when the suite started, on hack/cluster; the first
	// process alone knows.
	start audit.Position
	// runsAway reports whether the specs labelled away run.
	runsAway bool
	// back brings the deployed operator back, when the first process has taken it away.
	back func() error
)

func TestE2E(t *testing.T) {
	RegisterFailHandler(Fail)
	suite, reporter := GinkgoConfiguration()
	if suite.LabelFilter == "" {
		suite.LabelFilter = "!" + away
	}
	runsAway = suite.LabelFilter == away
	if os.Getenv("LONG") == "" {
		suite.LabelFilter = fmt.Sprintf("(%s) && !%s", suite.LabelFilter, long)
	}
	if !cluster.Local() {
		suite.LabelFilter = fmt.Sprintf("(%s) && !%s", suite.LabelFilter, faults)
	}
	if suite.SemVerFilter == "" {
		version, err := cluster.Version()
		if err != nil {
			t.Fatal(err)
		}
		suite.SemVerFilter = version
	}
	RunSpecs(t, "Mainstay Operator, end to end", suite, reporter)
}

var _ = SynchronizedBeforeSuite(func(ctx SpecContext) {
	connect(ctx)
	eventuallyOperatorLeads(ctx)
	if cluster.Local() {
		var err error
		start, err = auditLog.Now()
		Expect(err).NotTo(HaveOccurred())
	}
	if runsAway {
		var err error
		back, err = cluster.Dismiss(ctx, k8s)
		Expect(err).NotTo(HaveOccurred())
		Eventually(cluster.Operators).WithContext(ctx).WithArguments(k8s).Should(BeEmpty())
	}
}, connect)

// connect this process to the cluster.
func connect(ctx SpecContext) {
	GinkgoHelper()
	log.SetLogger(zap.New(zap.WriteTo(GinkgoWriter)))
	SetDefaultEventuallyTimeout(eventuallyTimeout)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()

	var err error
	config, k8s, err = cluster.Connect(ctx)
	Expect(err).NotTo(HaveOccurred())
	if network, err = traffic.Forwarded(config); cluster.Local() {
		network = traffic.ByClusterIP(k8s)
	}
	Expect(err).NotTo(HaveOccurred())
}

var _ = BeforeEach(func(ctx SpecContext) {
	if slices.Contains(CurrentSpecReport().Labels(), away) {
		Expect(cluster.Operators(ctx, k8s)).To(BeEmpty(), "the deployed operator would do this spec's work: run ginkgo with --label-filter=%s",
			away)
	}
	namespace = newNamespace(ctx)
})

// newNamespace gives one that is removed after the spec, or after all specs of an Ordered container if its BeforeAll makes it.
func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	fresh := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "e2e-",
		Labels: map[string]string{
			namespaceLabel: "true",
			// What a careful administrator enforces; every default must live with it.
			"pod-security.kubernetes.io/enforce": "baseline",
		},
	}}
	Expect(k8s.Create(ctx, fresh)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		Expect(client.IgnoreNotFound(k8s.Delete(ctx, fresh))).To(Succeed())
	})
	return fresh.Name
}

// That every namespace goes away is a promise of its own, and so is that the
// shipped rights suffice.
var _ = SynchronizedAfterSuite(func() {}, func(ctx SpecContext) {
	if k8s == nil {
		return
	}
	if back != nil {
		Expect(back()).To(Succeed())
		eventuallyOperatorLeads(ctx)
	}
	eventuallyAlone(ctx, "")
	if cluster.Local() {
		Expect(operatorRequests(start, func(r audit.Request) bool { return r.Forbidden })).To(BeEmpty())
	}
}, NodeTimeout(eventuallyTimeout+time.Minute))

// eventuallyAlone waits until no spec's namespace is left but one.
func eventuallyAlone(ctx context.Context, but string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		var list corev1.NamespaceList
		g.Expect(k8s.List(ctx, &list, client.HasLabels{namespaceLabel})).To(Succeed())
		for _, ns := range list.Items {
			g.Expect(ns.Name).To(Equal(but), "still there: %+v", ns.Status.Conditions)
		}
	}).WithContext(ctx).Should(Succeed())
}
