package e2e

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/redis/go-redis/v9"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/factory"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
	"github.com/mainstay-operator/mainstay-operator/test/traffic"
)

const redisPort = 6379

var _ = Describe("Redis", func() {
	It("replicates from its master to the replicas that are read from", func(ctx SpecContext) {
		r := factory.Redis("data").Build()
		create(ctx, r)
		eventuallyReady(ctx, r)
		Expect(r.Status.Nodes).To(HaveLen(3))
		master, reader := redisClient(ctx, r, r.Name), redisClient(ctx, r, r.Name+"-replicas")
		Eventually(func() error { return master.Set(ctx, "greeting", "hello", 0).Err() }).WithContext(ctx).Should(Succeed())
		Eventually(func() (string, error) { return reader.Get(ctx, "greeting").Result() }).WithContext(ctx).Should(Equal("hello"))
		Expect(reader.Set(ctx, "greeting", "no", 0).Err()).To(MatchError(ContainSubstring("READONLY")))
		Expect(master.Do(ctx, "REPLICAOF", "NO", "ONE").Err()).To(MatchError(ContainSubstring("NOPERM")), "roles are the operator's")
	})

	It("moves its master before the node that it is on is scaled away", func(ctx SpecContext) {
		r := factory.Redis("data").Build()
		create(ctx, r)
		eventuallyReady(ctx, r)
		w := writing(ctx, r)
		for _, size := range []int32{5, 2, 3} {
			edit(ctx, r, func(r *cachev1alpha1.Redis) { r.Spec.Size = &size })
			eventuallyReady(ctx, r)
			Expect(r.Status.Nodes).To(HaveLen(int(size)))
		}
		w.lostNothing(ctx)
	})

	It("rolls its pods on kubectl rollout restart and loses nothing", func(ctx SpecContext) {
		r := factory.Redis("data").Build()
		create(ctx, r)
		eventuallyReady(ctx, r)
		w := writing(ctx, r)
		before := podsOf(ctx, "redis", r.Name)
		kubectl(ctx, "rollout", "restart", "statefulset/data")
		Eventually(func(g Gomega) {
			for _, pod := range podsOf(ctx, "redis", r.Name) {
				g.Expect(slices.ContainsFunc(before, func(old corev1.Pod) bool { return old.UID == pod.UID })).To(BeFalse(), pod.Name)
			}
		}).WithContext(ctx).Should(Succeed())
		eventuallyReady(ctx, r)
		w.lostNothing(ctx)
	})

	It("keeps its data when all servers die at once", Label(faults), func(ctx SpecContext) {
		r := factory.Redis("data").Storage("64Mi").With(func(s *cachev1alpha1.RedisSpec) {
			s.Storage.Retention = cachev1alpha1.RedisDelete
		}).Build()
		create(ctx, r)
		eventuallyReady(ctx, r)
		c := redisClient(ctx, r, r.Name)
		Eventually(func() error { return c.Set(ctx, "kept", "yes", 0).Err() }).WithContext(ctx).Should(Succeed())
		for _, pod := range podsOf(ctx, "redis", r.Name) {
			Expect(fault.Kill(pod.UID, "redis-server")).To(Succeed())
		}
		Eventually(func() (string, error) { return redisClient(ctx, r, r.Name).Get(ctx, "kept").Result() }).WithContext(ctx).Should(Equal("yes"))
		eventuallyReady(ctx, r)
	})

	DescribeTable("loses no confirmed write and never has two endpoints when its master", Label(faults),
		func(ctx SpecContext, times int, harm func(context.Context, corev1.Pod)) {
			r := factory.Redis("data").Build()
			create(ctx, r)
			eventuallyReady(ctx, r)
			w := writing(ctx, r)
			var outages []time.Duration
			for range times {
				epoch := eventuallyRobust(ctx, r, r.Status.Epoch-1)
				// kube-proxy takes one change a second: what is measured begins in calm.
				Consistently(func() int64 { refresh(ctx, r); return r.Status.Epoch }).WithContext(ctx).
					WithTimeout(2 * time.Second).WithPolling(500 * time.Millisecond).Should(Equal(epoch))
				w.Outage()
				confirmed := w.Confirmed()
				harm(ctx, masterPod(ctx, r))
				eventuallyRobust(ctx, r, epoch)
				Eventually(w.Confirmed).WithContext(ctx).Should(BeNumerically(">", confirmed+50), "writes go on: %v", w.Failures())
				outages = append(outages, w.Outage())
			}
			w.lostNothing(ctx)
			slices.Sort(outages)
			AddReportEntry("unavailability", fmt.Sprintf("%d times: median %s, longest %s", times, outages[times/2], outages[times-1]))
		},
		Entry("is killed", 20, func(_ context.Context, pod corev1.Pod) {
			Expect(fault.Kill(pod.UID, "redis-server")).To(Succeed())
		}, SpecTimeout(10*time.Minute)),
		Entry("is deleted by force", 10, func(ctx context.Context, pod corev1.Pod) {
			Expect(k8s.Delete(ctx, &pod, client.GracePeriodSeconds(0))).To(Succeed())
		}, SpecTimeout(10*time.Minute)),
		Entry("is deleted", 5, func(ctx context.Context, pod corev1.Pod) {
			Expect(k8s.Delete(ctx, &pod)).To(Succeed())
		}, SpecTimeout(10*time.Minute)),
	)
})

// redisClient is an application's, through a Service.
func redisClient(ctx context.Context, r *cachev1alpha1.Redis, service string) *redis.Client {
	GinkgoHelper()
	c := redisClients(ctx, r, service)()
	DeferCleanup(c.Close)
	return c
}

// redisClients makes clients of a Service with the application's credentials.
func redisClients(ctx context.Context, r *cachev1alpha1.Redis, service string) func() *redis.Client {
	GinkgoHelper()
	var binding corev1.Secret
	Expect(k8s.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Status.Binding.Name}, &binding)).To(Succeed())
	return func() *redis.Client {
		return traffic.Redis(network, traffic.Service{Namespace: r.Namespace, Name: service, Port: redisPort},
			string(binding.Data["username"]), string(binding.Data["password"]))
	}
}

func masterPod(ctx context.Context, r *cachev1alpha1.Redis) corev1.Pod {
	GinkgoHelper()
	var pod corev1.Pod
	Expect(k8s.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Status.Master}, &pod)).To(Succeed())
	return pod
}

// eventuallyRobust waits until there is a master of a later epoch, which could
// be lost again, and gives its epoch.
func eventuallyRobust(ctx context.Context, r *cachev1alpha1.Redis, after int64) int64 {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		refresh(ctx, r)
		g.Expect(r.Status.Epoch).To(BeNumerically(">", after))
		g.Expect(condition(r, commonv1.ConditionReady).Status).To(Equal(metav1.ConditionTrue), "%+v", r.Status.Conditions)
		g.Expect(condition(r, commonv1.ConditionFailoverPossible).Status).To(Equal(metav1.ConditionTrue))
	}).WithContext(ctx).Should(Succeed())
	return r.Status.Epoch
}

// writer is an application that goes on writing, beside a watch over the route.
type writer struct {
	*fault.Writer
	endpoints *fault.Endpoints
	stop      func()
}

func writing(ctx context.Context, r *cachev1alpha1.Redis) *writer {
	GinkgoHelper()
	clients, err := kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	DeferCleanup(stop)
	w := &writer{}
	w.endpoints, err = fault.WatchEndpoints(run, clients, r.Namespace, r.Name)
	Expect(err).NotTo(HaveOccurred())
	w.Writer = fault.NewWriter("key-", redisClients(ctx, r, r.Name))
	done := make(chan struct{})
	go func() { defer close(done); defer GinkgoRecover(); w.Run(run) }()
	w.stop = func() { stop(); <-done }
	Eventually(w.Confirmed).WithContext(ctx).Should(BeNumerically(">", 50), "%v", w.Failures())
	return w
}

// lostNothing ends the writing and reads everything back.
func (w *writer) lostNothing(ctx context.Context) {
	GinkgoHelper()
	crowded, err := w.endpoints.Crowded()
	Expect(err).NotTo(HaveOccurred())
	Expect(crowded).To(BeEmpty(), "more than one endpoint")
	w.stop()
	Eventually(func(g Gomega) {
		lost, err := w.Lost(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(lost).To(BeEmpty(), "of %d confirmed writes", w.Confirmed())
	}).WithContext(ctx).WithTimeout(10 * time.Second).Should(Succeed())
}
