package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/redis/go-redis/v9"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
	"github.com/mainstay-operator/mainstay-operator/test/traffic"
)

const redisPort = 6379

// What happens to its master is in the folder redis.
var _ = Describe("Redis", func() {
	It("replicates from its master to the replicas that are read from", func(ctx SpecContext) {
		r := builders.Redis("data").Build()
		create(ctx, r)
		eventuallyReady(ctx, r)
		Expect(r.Status.Nodes).To(HaveLen(3))
		master, reader := redisClient(ctx, r, r.Name), redisClient(ctx, r, r.Name+"-replicas")
		Eventually(func() error { return master.Set(ctx, "greeting", "hello", 0).Err() }).WithContext(ctx).Should(Succeed())
		Eventually(func() (string, error) { return reader.Get(ctx, "greeting").Result() }).WithContext(ctx).Should(Equal("hello"))
		Expect(reader.Set(ctx, "greeting", "no", 0).Err()).To(MatchError(ContainSubstring("READONLY")))
		Expect(master.Do(ctx, "REPLICAOF", "NO", "ONE").Err()).To(MatchError(ContainSubstring("NOPERM")), "roles are the operator's")
	})

	It("runs Valkey as it runs Redis", func(ctx SpecContext) {
		r := builders.Redis("data").Valkey().Build()
		create(ctx, r)
		eventuallyReady(ctx, r)
		master := redisClient(ctx, r, r.Name)
		Eventually(func() error { return master.Set(ctx, "greeting", "hello", 0).Err() }).WithContext(ctx).Should(Succeed())
		Expect(master.Info(ctx, "server").Result()).To(ContainSubstring("valkey_version:" + r.Status.Nodes[0].Version))
	})

	It("uses a corrected spec, also where no server has ever run", func(ctx SpecContext) {
		const image, typo = "docker.io/library/redis:8.0", "docker.io/library/redis:8.0-typo"
		r := builders.Redis("mistaken").Storage("128Mi").Image(typo).Build()
		create(ctx, r)
		setImage := func(image string) {
			GinkgoHelper()
			edit(ctx, r, func(r *cachev1alpha1.Redis) { r.Spec.Image = image })
		}
		eventuallyNotPulled(ctx, "redis", r.Name)
		setImage(image)
		eventuallyReady(ctx, r)

		By("an image that cannot be pulled, and one of another server, while clients write")
		w := writing(ctx, r)
		setImage(typo)
		eventuallyNotPulled(ctx, "redis", r.Name)
		setImage("quay.io/coreos/etcd:v3.7.3")
		Eventually(podsOf).WithContext(ctx).WithArguments("redis", r.Name).Should(ContainElement(HaveField("Status.ContainerStatuses",
			ContainElement(HaveField("LastTerminationState.Terminated", Not(BeNil()))))))
		setImage(image)
		eventuallyReady(ctx, r)
		Expect(w.Lost(ctx)).To(BeEmpty())
		Expect(w.Refusals()).To(BeEmpty())
	})
})

// writing is an application that writes through the Service until the spec ends.
func writing(ctx context.Context, r *cachev1alpha1.Redis) *fault.Writer {
	GinkgoHelper()
	return writingUnder(ctx, r, "key-")
}

// writingUnder does so with keys of that prefix.
func writingUnder(ctx context.Context, r *cachev1alpha1.Redis, prefix string) *fault.Writer {
	GinkgoHelper()
	// kube-proxy takes up to a second to open the Service.
	first := redisClient(ctx, r, r.Name)
	Eventually(func() error { return first.Ping(ctx).Err() }).WithContext(ctx).Should(Succeed())
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	w, done := fault.NewWriter(prefix, redisClients(ctx, r, r.Name)), make(chan struct{})
	go func() { defer close(done); defer GinkgoRecover(); w.Run(run) }()
	DeferCleanup(func() { stop(); <-done })
	Eventually(w.Written).WithContext(ctx).Should(BeNumerically(">", 50), "%v", w.Failures())
	return w
}

// redisClient is an application's, through a Service.
func redisClient(ctx context.Context, r *cachev1alpha1.Redis, service string) *redis.Client {
	GinkgoHelper()
	c := redisClients(ctx, r, service)()
	DeferCleanup(c.Close)
	return c
}

// redisClients makes some, with what the application's Secret says by now.
func redisClients(ctx context.Context, r *cachev1alpha1.Redis, service string) func() *redis.Client {
	GinkgoHelper()
	var binding corev1.Secret
	Expect(k8s.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Status.Binding.Name}, &binding)).To(Succeed())
	through, to := network, traffic.Service{Namespace: r.Namespace, Name: service, Port: redisPort}
	if authorities := binding.Data["ca.crt"]; authorities != nil {
		through = traffic.Secured{Network: network, Config: trusting(authorities, service)}
	}
	return func() *redis.Client {
		return traffic.Redis(through, to, string(binding.Data["username"]), string(binding.Data["password"]))
	}
}
