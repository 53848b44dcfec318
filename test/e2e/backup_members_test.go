package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

var _ = Describe("A backup is whole whatever befalls the servers meanwhile", Label(faults), longest, func() {
	// during makes a backup, has something happen right before the runner reads the servers, and waits for its end.
	during := func(ctx context.Context, g *gate, made backup, happens func()) backup {
		GinkgoHelper()
		h := g.hold(made.GetName(), beforeReading)
		create(ctx, made)
		h.waits(ctx)
		happens()
		h.pass()
		eventually(ctx, made, commonv1.ConditionComplete, metav1.ConditionTrue)
		Expect(made.GetBackupStatus().Items).To(ConsistOf(HaveField("Verified", true)), "another attempt has left something")
		return made
	}

	It("of an EtcdCluster: its leader is killed, a member is replaced, it grows and shrinks", func(ctx SpecContext) {
		b := startS3(ctx, false)
		g := openGate(b)
		e := builders.EtcdCluster("keys").Storage("128Mi").Build()
		create(ctx, e)
		eventuallyReady(ctx, e)
		etcd := dialEtcd(e, nil)
		w := puttingBy(ctx, etcd)
		var all []backup
		backUpDuring := func(name string, happens func()) {
			GinkgoHelper()
			reply, err := etcd.Get(ctx, w.lastKey())
			Expect(err).NotTo(HaveOccurred())
			made := during(ctx, g, newBackup("etcd", name, e.Name, commonv1.BackupOptions{Store: g.store}), happens)
			Expect(made.GetBackupStatus().LastVerified.Revision).To(BeNumerically(">=", reply.Header.Revision), "keys from before are missing")
			w.continues(ctx)
			all = append(all, made)
		}

		backUpDuring("killed", func() {
			refresh(ctx, e)
			Expect(fault.Kill(podNamed(ctx, e.Status.Leader).UID, "etcd")).To(Succeed())
		})
		eventuallyReady(ctx, e)
		lost := e.Status.Members[2]
		backUpDuring("replaced", func() {
			Expect(fault.WipeDisk(podNamed(ctx, lost.Name).UID, "etcd", etcdData)).To(Succeed())
		})
		Eventually(func(g Gomega) {
			refresh(ctx, e)
			g.Expect(e.Status.ReadyReplicas).To(BeEquivalentTo(3))
			g.Expect(e.Status.Members).To(ContainElement(And(HaveField("Name", lost.Name), HaveField("ID", Not(Equal(lost.ID))))))
		}).WithContext(ctx).Should(Succeed())
		eventuallyReady(ctx, e)
		backUpDuring("grown", func() {
			edit(ctx, e, func(e *databasev1alpha1.EtcdCluster) { e.Spec.Size = ptr.To[int32](5) })
			Eventually(func(g Gomega) {
				refresh(ctx, e)
				g.Expect(len(e.Status.Membership.Members)).To(BeNumerically(">", 3))
			}).WithContext(ctx).Should(Succeed())
		})
		eventuallyReady(ctx, e)
		Expect(e.Status.ReadyReplicas).To(BeEquivalentTo(5))
		backUpDuring("shrunk", func() {
			edit(ctx, e, func(e *databasev1alpha1.EtcdCluster) { e.Spec.Size = ptr.To[int32](3) })
			Eventually(func(g Gomega) {
				refresh(ctx, e)
				g.Expect(len(e.Status.Membership.Members)).To(BeNumerically("<", 5))
			}).WithContext(ctx).Should(Succeed())
		})
		eventuallyReady(ctx, e)

		w.hasLostNothing(ctx)
		Expect(b.names(ctx)).To(Equal(objectsOfAll("etcd", all...)))
		Expect(b.unfinished(ctx)).To(BeEmpty())
	})

	It("of a Redis: its master is killed, and moves, it shrinks, and is deleted", func(ctx SpecContext) {
		b := startS3(ctx, false)
		g := openGate(b)
		r := builders.Redis("data").Build()
		create(ctx, r)
		eventuallyReady(ctx, r)
		w := writing(ctx, r)
		var all []backup
		confirmed := map[string][]string{} // before each backup started
		backUpDuring := func(name string, happens func()) {
			GinkgoHelper()
			confirmed[name] = w.Keys()
			all = append(all, during(ctx, g, newBackup("redis", name, r.Name, commonv1.BackupOptions{Store: g.store}), happens))
			eventuallyReady(ctx, r)
		}

		backUpDuring("killed", func() {
			Expect(fault.Kill(podNamed(ctx, r.Status.Master).UID, "redis-server")).To(Succeed())
		})
		Expect(r.Status.Epoch).To(BeNumerically(">", 1), "no replica has followed the master")
		target := "data-0"
		if r.Status.Master == target {
			target = "data-1"
		}
		backUpDuring("moved", func() {
			edit(ctx, r, func(r *cachev1alpha1.Redis) { r.Annotations = map[string]string{cachev1alpha1.RedisSwitchover: target} })
		})
		Eventually(func() string { refresh(ctx, r); return r.Status.Master }).WithContext(ctx).Should(Equal(target))
		backUpDuring("shrunk", func() {
			edit(ctx, r, func(r *cachev1alpha1.Redis) { r.Spec.Size = ptr.To[int32](2) })
			Eventually(podsOf).WithArguments(ctx, "redis", r.Name).WithContext(ctx).Should(HaveLen(2))
		})

		before := w.Written()
		Eventually(w.Written).WithContext(ctx).Should(BeNumerically(">", before+20), "%v", w.Failures())
		Expect(w.Lost(ctx)).To(BeEmpty())
		for name, keys := range confirmed {
			again := builders.Redis("of-" + name).Size(1).With(func(s *cachev1alpha1.RedisSpec) {
				s.Bootstrap = &cachev1alpha1.RedisBootstrap{Backup: commonv1.BackupReference{Store: g.store, Name: name}}
			}).Build()
			create(ctx, again)
			eventuallyReady(ctx, again)
			restored := redisKeys(ctx, redisClient(ctx, again, again.Name))
			Expect(missing(keys, restored)).To(BeEmpty(), "of %d confirmed before the backup %q", len(keys), name)
		}

		orphaned := newBackup("redis", "orphaned", r.Name, commonv1.BackupOptions{Store: g.store})
		h := g.hold(orphaned.GetName(), beforeReading)
		create(ctx, orphaned)
		h.waits(ctx)
		Expect(k8s.Delete(ctx, r)).To(Succeed())
		Eventually(podsOf).WithArguments(ctx, "redis", r.Name).WithContext(ctx).Should(BeEmpty())
		h.pass()
		Eventually(func(g Gomega) {
			refresh(ctx, orphaned)
			progressing := condition(orphaned, commonv1.ConditionProgressing)
			g.Expect(progressing.Reason).To(Equal(commonv1.ReasonRetrying), progressing.Message)
			g.Expect(progressing.Message).To(ContainSubstring("no server answers as a master"))
		}).WithContext(ctx).Should(Succeed())

		Expect(b.names(ctx)).To(Equal(objectsOfAll("redis", all...)))
		Expect(b.unfinished(ctx)).To(BeEmpty())
	})
})
