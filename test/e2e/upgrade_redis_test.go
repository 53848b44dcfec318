package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

// What the operator saves of a change of the master, in this order.
var (
	savesNextMaster = fault.Saves("redis", func(before, after *cachev1alpha1.Redis) bool {
		return after.Status.Epoch > before.Status.Epoch
	})
	savesPromotion = fault.Saves("redis", func(before, after *cachev1alpha1.Redis) bool {
		was, becomes := before.Status.Replication, after.Status.Replication
		return was != nil && becomes != nil && becomes.Epoch > was.Epoch
	})
	savesRoute = fault.Saves("redis", func(before, after *cachev1alpha1.Redis) bool {
		was, becomes := before.Status.LastFailover, after.Status.LastFailover
		return was != nil && becomes != nil && was.RoutedAt == nil && becomes.RoutedAt != nil
	})
)

// redisMoments are when a Redis is under way to another master.
var redisMoments = []TableEntry{
	Entry("its master is killed, and the next one is not saved", killRedisMaster, savesNextMaster.Before()),
	Entry("its master is killed; the next one is saved, and not promoted", killRedisMaster, savesNextMaster),
	Entry("its master is killed; the next one is promoted, and that is not saved", killRedisMaster, savesPromotion.Before()),
	Entry("its master is killed; the next one is saved as promoted, and the endpoints lead to no server", killRedisMaster, savesPromotion),
	Entry("its master is killed; the endpoints lead to the next one, and that is not saved", killRedisMaster, savesRoute.Before()),
	Entry("in a switchover, the next master is saved, and the former one serves", switchRedisOver, savesNextMaster),
	Entry("in a switchover, the former master is fenced and the next one promoted, and that is not saved", switchRedisOver,
		savesPromotion.Before()),
	Entry("in a rolling change, one pod is replaced and two are not", changeRedisPods,
		fault.Write{Operation: admissionv1.Delete, Resource: "pods", Others: 1}.Before()),
}

// upgradeRedis upgrades the operator while a Redis is under way to another master.
func upgradeRedis(ctx SpecContext, start func(context.Context, *cachev1alpha1.Redis), w fault.Write) {
	r := builders.Redis("data").Storage("64Mi").Build()
	create(ctx, r)
	eventuallyWhole(ctx, r, 0)
	clients, err := kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	DeferCleanup(stop)
	endpoints, err := fault.WatchEndpoints(watching, clients, namespace, r.Name)
	Expect(err).NotTo(HaveOccurred())
	writer, epoch := writing(ctx, r), r.Status.Epoch

	upgradeAt(ctx, w, func() { start(ctx, r) })
	eventuallyWhole(ctx, r, epoch)
	written := writer.Written()
	Eventually(writer.Written).WithContext(ctx).Should(BeNumerically(">", written+50), "%v", writer.Failures())
	lost, err := writer.Lost(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(lost).To(BeEmpty(), "of %d confirmed writes", writer.Written())
	crowded, err := endpoints.Crowded()
	Expect(err).NotTo(HaveOccurred())
	Expect(crowded).To(BeEmpty(), "more than one endpoint")
}

// eventuallyWhole waits until clients are led to a master of a later epoch, and all other servers follow it.
func eventuallyWhole(ctx context.Context, r *cachev1alpha1.Redis, after int64) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(r), r)).To(Succeed())
		for _, kind := range []string{commonv1.ConditionReady, commonv1.ConditionFailoverPossible} {
			g.Expect(condition(r, kind)).To(HaveField("Status", metav1.ConditionTrue), "conditions: %+v", r.Status.Conditions)
		}
		g.Expect(r.Status.Replication.Epoch).To(And(BeNumerically(">", after), Equal(r.Status.Epoch)))
		g.Expect(r.Status.TargetMaster).To(Equal(r.Status.Master))
		g.Expect(r.Status.LastFailover).To(HaveValue(HaveField("RoutedAt", Not(BeNil()))))
		g.Expect(r.Status.Nodes).To(HaveLen(3))
		g.Expect(r.Status.Nodes).To(HaveEach(HaveField("State", BeElementOf(cachev1alpha1.RedisMaster, cachev1alpha1.RedisInSync))))
	}).WithContext(ctx).Should(Succeed())
}

func killRedisMaster(ctx context.Context, r *cachev1alpha1.Redis) {
	GinkgoHelper()
	Expect(fault.Kill(podNamed(ctx, r.Status.Master).UID, "redis-server")).To(Succeed())
}

func switchRedisOver(ctx context.Context, r *cachev1alpha1.Redis) {
	GinkgoHelper()
	edit(ctx, r, func(r *cachev1alpha1.Redis) {
		for _, node := range r.Status.Nodes {
			if node.Name != r.Status.Master {
				r.Annotations = map[string]string{cachev1alpha1.RedisSwitchover: node.Name}
			}
		}
	})
}

// changeRedisPods changes what only new pods have.
func changeRedisPods(ctx context.Context, r *cachev1alpha1.Redis) {
	GinkgoHelper()
	edit(ctx, r, func(r *cachev1alpha1.Redis) {
		r.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("15m")}
	})
}
