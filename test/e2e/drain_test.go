package e2e

import (
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/traffic"
)

var _ = Describe("A drain of a set of 3", func() {
	// hack/cluster's node is this machine: the load goes by kube-proxy's rules alone.
	It("fails no request to an EasyService", Serial, Label(faults), func(ctx SpecContext) {
		e := builders.EasyService("web").Size(3).Ports(appv1.Port{Name: "http", Port: 80}).Build()
		create(ctx, e)
		eventuallyReady(ctx, e)
		eventuallyAnswers(ctx, e, 80)
		load := traffic.StartLoad(traffic.At(offered(ctx, e).Spec.ClusterIP), traffic.Service{Namespace: namespace, Name: "web", Port: 80}, "/",
			50)
		drain(ctx, "easyservice", e)
		seen := load.Stop()
		Expect(seen.Failed).To(BeZero(), "of %d: %v", seen.Requests, seen.First)
	})

	It("loses no confirmed write of a Redis that has them in memory alone", func(ctx SpecContext) {
		r := builders.Redis("data").Build()
		create(ctx, r)
		eventuallyReady(ctx, r)
		w := writing(ctx, r)
		drain(ctx, "redis", r)
		eventuallyReady(ctx, r)
		before := w.Written()
		Eventually(w.Written).WithContext(ctx).Should(BeNumerically(">", before), "%v", w.Failures())
		Expect(w.Lost(ctx)).To(BeEmpty())
		AddReportEntry("a drain of Redis", fmt.Sprintf("%d confirmed writes", w.Written()))
	})

	// With kubectl itself: nothing new finds a place on the one node meanwhile.
	It("waits while what was evicted has no other node to go to", Serial, Label(faults), func(ctx SpecContext) {
		m := builders.Memcached("cache").Size(3).Memory("16Mi").Build()
		create(ctx, m)
		eventuallyReady(ctx, m)
		kubernetesNode := podsOf(ctx, "memcached", "cache")[0].Spec.NodeName
		uncordon := func(ctx context.Context) { kubectl(ctx, "uncordon", kubernetesNode) }
		DeferCleanup(uncordon)
		_, err := cluster.Kubectl(ctx, "drain", kubernetesNode, "--ignore-daemonsets", "--delete-emptydir-data",
			"--pod-selector=app.kubernetes.io/name=memcached,app.kubernetes.io/instance=cache", "--timeout=12s")
		Expect(err).To(MatchError(ContainSubstring("would violate the pod's disruption budget")))
		Eventually(func(g Gomega) {
			pods := podsOf(ctx, "memcached", "cache")
			g.Expect(healthy(pods)).To(Equal(2))
			g.Expect(pods).To(ContainElement(HaveField("Status.Phase", corev1.PodPending)))
		}).WithContext(ctx).Should(Succeed())

		uncordon(ctx)
		drain(ctx, "memcached", m)
	})

	It("is held up by none that never became ready", func(ctx SpecContext) {
		// It runs, and nothing listens where readiness is asked for.
		e := builders.EasyService("broken").Size(3).Ports(appv1.Port{Name: "http", Port: 81}).Build()
		create(ctx, e)
		running := func() []corev1.Pod { return podsOf(ctx, "easyservice", "broken") }
		Eventually(running).WithContext(ctx).Should(And(HaveLen(3), HaveEach(HaveField("Status.Phase", corev1.PodRunning))))
		Eventually(func(g Gomega) { // its budget speaks of these pods
			budget := &policyv1.PodDisruptionBudget{}
			g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(e), budget)).To(Succeed())
			g.Expect(budget.Status).To(And(HaveField("ExpectedPods", BeEquivalentTo(3)), HaveField("DisruptionsAllowed", BeZero())))
		}).WithContext(ctx).Should(Succeed())
		for _, pod := range running() {
			Expect(evict(ctx, pod)).To(Succeed())
		}
	})
})

// drain evicts every pod of a set as kubectl drain does, but for the cordon, which would
// leave the one node without their successors. It ends in time, and never are more than
// one of them away.
func drain(ctx context.Context, kind string, obj object) {
	GinkgoHelper()
	before := eventuallyHealthy(ctx, kind, obj)
	fewest := watchHealthy(ctx, kind, len(before))
	refused := 0
	for _, pod := range before {
		Eventually(func() error {
			err := evict(ctx, pod)
			if apierrors.IsTooManyRequests(err) {
				refused++
			}
			return err
		}).WithContext(ctx).Should(Succeed())
	}
	after := eventuallyHealthy(ctx, kind, obj)
	for _, pod := range before {
		Expect(after).NotTo(ContainElement(HaveField("UID", pod.UID)))
	}
	Expect(fewest()).To(Equal(2))
	Expect(refused).To(BeNumerically(">", 0), "the budget held none back")
}

// eventuallyHealthy waits for a set of 3 healthy pods and no others, and gives them.
func eventuallyHealthy(ctx context.Context, kind string, obj object) (pods []corev1.Pod) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		pods = podsOf(ctx, kind, obj.GetName())
		g.Expect(pods).To(HaveLen(3))
		g.Expect(healthy(pods)).To(Equal(3))
	}).WithContext(ctx).Should(Succeed())
	return pods
}

// evict is nil when the pod is on its way out, or gone.
func evict(ctx context.Context, pod corev1.Pod) error {
	err := k8s.SubResource("eviction").Create(ctx, &pod, &policyv1.Eviction{
		DeleteOptions: &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))},
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// watchHealthy looks at a set's pods, which so many are at first, until it is asked for
// the fewest that were healthy at once.
func watchHealthy(ctx context.Context, kind string, least int) (fewest func() int) {
	run, stop := context.WithCancel(ctx)
	DeferCleanup(stop)
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for run.Err() == nil {
			var pods corev1.PodList
			if k8s.List(run, &pods, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/name": kind}) == nil {
				least = min(least, healthy(pods.Items))
			}
			select {
			case <-run.Done():
			case <-tick.C:
			}
		}
	})
	return func() int { stop(); watching.Wait(); return least }
}

// healthy pods are those that a disruption budget counts: ready, and to stay.
func healthy(pods []corev1.Pod) (n int) {
	for _, pod := range pods {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil {
				n++
			}
		}
	}
	return n
}
