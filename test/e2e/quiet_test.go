package e2e

import (
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/audit"
)

const (
	// resting is how long the operator is watched doing nothing.
	resting = time.Minute
	// waking is how long a new leader is watched reading what there is: it has
	// looked at every object once long before.
	waking = 20 * time.Second
	// enoughWrites in that time, on the slowest of machines.
	enoughWrites = 1000
)

// auditLog is the API server's, on the cluster of hack/cluster.
var auditLog = audit.Log{Path: filepath.Join(root, ".cluster", "log", "audit.log")}

// operatorRequests are the requests since a mark that the deployed operator has
// made and that a test is true for, as the API server has seen them.
func operatorRequests(since audit.Mark, test func(audit.Request) bool) []audit.Request {
	GinkgoHelper()
	all, err := auditLog.Since(since)
	Expect(err).NotTo(HaveOccurred())
	return audit.Matching(all, func(r audit.Request) bool { return r.User == operatorUser && test(r) })
}

// busy is any request but a lease's and a watch that is opened again.
func busy(r audit.Request) bool { return r.Resource != "leases" && r.Verb != "watch" }

// meddling is a request about one object outside of the operator's own
// namespace: what it takes to fill caches is not.
func meddling(r audit.Request) bool {
	return busy(r) && r.Verb != "list" && r.Namespace != "" && r.Namespace != operatorNamespace
}

var _ = Describe("The operator", Label(faults), func() {
	It("asks nothing of the API server at rest, and touches nothing after a restart", func(ctx SpecContext) {
		eventuallyArrived(ctx, applySamples(ctx))
		eventuallyAlone(ctx, namespace)
		since := func(mark audit.Mark, test func(audit.Request) bool) func() []audit.Request {
			return func() []audit.Request { return operatorRequests(mark, test) }
		}
		now := func() audit.Mark {
			mark, err := auditLog.Now()
			Expect(err).NotTo(HaveOccurred())
			return mark
		}
		By("coming to rest")
		Eventually(func(g Gomega) {
			mark := now()
			g.Consistently(since(mark, busy)).WithTimeout(5 * time.Second).WithPolling(time.Second).Should(BeEmpty())
		}).WithContext(ctx).Should(Succeed())

		By("resting, while an application writes")
		written := &cachev1alpha1.Redis{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sample-redis"}}
		refresh(ctx, written)
		w := writing(ctx, written)
		Consistently(since(now(), busy)).WithContext(ctx).WithTimeout(resting).WithPolling(5 * time.Second).Should(BeEmpty())
		Expect(w.Written()).To(BeNumerically(">", enoughWrites))

		By("restarting the operator")
		mark := now()
		restartOperator(ctx)
		Consistently(since(mark, meddling)).WithContext(ctx).WithTimeout(waking).WithPolling(2 * time.Second).Should(BeEmpty())
		Expect(since(mark, func(r audit.Request) bool { return r.Verb == "watch" })()).NotTo(BeEmpty(), "it has begun to watch")
	})
})
