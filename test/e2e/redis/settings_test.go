package redis

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

// These are first, since the last one to start is waited for: each makes a Redis of its own, while rows take one that is there.
var _ = Describe("A Redis whose settings change under a writer", SpecPriority(1), func() {
	It("replaces no pod and fails no operation", func(ctx SpecContext) {
		s := newSubject(ctx, faultRow{storage: true})
		s.waitUntilHealed(ctx)
		before, failures, written := s.processes(ctx), s.refusals(), s.confirming.Written()
		Expect(s.edit(ctx, func(r *cachev1alpha1.Redis) {
			r.Spec.Config = map[string]cachev1alpha1.RedisConfigValue{"maxmemory-policy": "volatile-lru", "hz": "25"}
			r.Spec.Persistence = &cachev1alpha1.RedisPersistence{Mode: cachev1alpha1.RedisPersistBoth, AppendFsync: "everysec"}
		})).To(Succeed())
		Eventually(s.settled).WithContext(ctx).Should(Succeed())
		Eventually(s.confirming.Written).WithContext(ctx).Should(BeNumerically(">", written+enoughWrites))
		Expect(s.refusals()).To(Equal(failures))
		Expect(s.processes(ctx)).To(Equal(before))
		_, to := s.dialers(ctx)
		pods, err := s.pods(ctx)
		Expect(err).NotTo(HaveOccurred())
		for _, address := range addresses(pods) {
			client := to(address)
			DeferCleanup(client.Close)
			Expect(client.Info(ctx, "everything").Result()).To(And(
				ContainSubstring("maxmemory_policy:volatile-lru"), ContainSubstring("configured_hz:25")))
		}
	}, SpecTimeout(5*time.Minute))

	It("from RDB to AOF keeps its data when every server is killed", func(ctx SpecContext) {
		s := newSubject(ctx, faultRow{storage: true})
		for _, mode := range []cachev1alpha1.RedisPersistenceMode{cachev1alpha1.RedisPersistRDB, cachev1alpha1.RedisPersistAOF} {
			Expect(s.edit(ctx, func(r *cachev1alpha1.Redis) {
				r.Spec.Persistence = &cachev1alpha1.RedisPersistence{Mode: mode, AppendFsync: "everysec"}
			})).To(Succeed())
			Eventually(s.settled).WithContext(ctx).Should(Succeed())
		}
		awaitMoreWrites(ctx, s.confirming)
		s.stop()
		stay(ctx, stillness) // a server that syncs each second keeps what it appends so long to itself
		epoch := s.Status.Epoch
		pods, err := s.pods(ctx)
		Expect(err).NotTo(HaveOccurred())
		for _, pod := range pods {
			Expect(fault.Kill(pod.UID, program)).To(Succeed())
		}
		Eventually(s.robust).WithContext(ctx).WithArguments(epoch).Should(Succeed())
		Expect(s.lost(ctx, s.confirming)).To(BeEmpty())
		Expect(s.lost(ctx, s.plain)).To(BeEmpty())
	}, SpecTimeout(10*time.Minute))
})

// settled is nil when the Redis is robust and its servers run with what this
// generation says.
func (s *subject) settled(ctx context.Context) error {
	if err := s.robust(ctx, 0); err != nil {
		return err
	}
	c := meta.FindStatusCondition(s.Status.Conditions, commonv1.ConditionSettingsInSync)
	if c == nil || c.Status != "True" || c.ObservedGeneration != s.Generation {
		return fmt.Errorf("%+v", c)
	}
	return nil
}

// refusals of both writers.
func (s *subject) refusals() []map[string]int {
	return []map[string]int{s.confirming.Refusals(), s.plain.Refusals()}
}

// processes that run, by the UIDs of their pods and how often each was started.
func (s *subject) processes(ctx context.Context) map[types.UID]int32 {
	GinkgoHelper()
	pods, err := s.pods(ctx)
	Expect(err).NotTo(HaveOccurred())
	found := map[types.UID]int32{}
	for _, pod := range pods {
		found[pod.UID] = pod.Status.ContainerStatuses[0].RestartCount
	}
	return found
}
