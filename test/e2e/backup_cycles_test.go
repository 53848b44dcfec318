package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// cycles of backup, loss of everything but the store, and restore, for each kind: as many as CYCLES says. From the second on, they
// start with what the one before has restored.
func cycles() int {
	GinkgoHelper()
	text := os.Getenv("CYCLES")
	switch {
	case text != "":
		n, err := strconv.Atoi(text)
		Expect(err).NotTo(HaveOccurred(), "CYCLES")
		Expect(n).To(BeNumerically(">", 0), "CYCLES")
		return n
	case os.Getenv("LONG") != "":
		return 50
	}
	return 1
}

// reportCycle reports what a cycle took: at so little data, what its pods take to start.
func reportCycle(cycle int, confirmed []string, item *commonv1.BackupItem, backup, restore time.Duration) {
	AddReportEntry(fmt.Sprintf("cycle %d of %d: %d keys confirmed before the backup; %d bytes in the store; backup %.1f s, restored and "+
		"healthy after %.1f s",
		cycle+1, cycles(), len(confirmed), item.Size, backup.Seconds(), restore.Seconds()))
}

// What is restored has every write that was confirmed before the backup started, and none that was never made.
var _ = Describe("From nothing but the store", longest, func() {
	store := commonv1.BackupStore{Volume: &commonv1.VolumeStore{ClaimName: "backups", Path: "all"}}
	makeStore := func(ctx context.Context) {
		create(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "backups"}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		}})
	}

	It("an EtcdCluster comes back", func(ctx SpecContext) {
		makeStore(ctx)
		e := builders.EtcdCluster("keys-0").Storage("128Mi").Build()
		create(ctx, e)
		eventuallyReady(ctx, e)
		var confirmed, attempted []string // in all cycles: what one restores the next one backs up
		for cycle := range cycles() {
			w := puttingUnder(ctx, dialEtcd(e, nil), fmt.Sprintf("cycle-%d-", cycle))
			name := fmt.Sprintf("nightly-%d", cycle)
			confirmed = append(confirmed, w.confirmed()...)
			b := &databasev1alpha1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: databasev1alpha1.EtcdBackupSpec{ClusterName: e.Name, BackupOptions: commonv1.BackupOptions{Store: store}}}
			start := time.Now()
			create(ctx, b)
			eventually(ctx, b, commonv1.ConditionComplete, metav1.ConditionTrue)
			took := time.Since(start)
			Expect(b.Status.LastVerified).NotTo(BeNil())
			made := *b.Status.LastVerified
			w.continues(ctx)
			w.stop()
			wipe(ctx, e, b)
			attempted = append(attempted, w.attempted()...)

			start = time.Now()
			e = builders.EtcdCluster(fmt.Sprintf("keys-%d", cycle+1)).Storage("128Mi").With(func(s *databasev1alpha1.EtcdClusterSpec) {
				s.Bootstrap = &databasev1alpha1.EtcdBootstrap{Backup: commonv1.BackupReference{Store: store, Name: name}}
			}).Build()
			create(ctx, e)
			eventuallyReady(ctx, e)
			reportCycle(cycle, confirmed, &made, took, time.Since(start))
			restored := etcdKeys(ctx, dialEtcd(e, nil))
			Expect(missing(confirmed, restored)).To(BeEmpty(), "of %d confirmed before the backup", len(confirmed))
			Expect(missing(restored, attempted)).To(BeEmpty(), "no client wrote it")
		}
	})

	It("a Redis comes back", func(ctx SpecContext) {
		makeStore(ctx)
		r := builders.Redis("data-0").Storage("64Mi").Build()
		create(ctx, r)
		eventuallyReady(ctx, r)
		var confirmed, attempted []string // in all cycles: what one restores the next one backs up
		for cycle := range cycles() {
			w := writingUnder(ctx, r, fmt.Sprintf("cycle-%d-", cycle))
			name := fmt.Sprintf("nightly-%d", cycle)
			confirmed = append(confirmed, w.Keys()...)
			b := &cachev1alpha1.RedisBackup{ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: cachev1alpha1.RedisBackupSpec{RedisName: r.Name, BackupOptions: commonv1.BackupOptions{Store: store}}}
			start := time.Now()
			create(ctx, b)
			eventually(ctx, b, commonv1.ConditionComplete, metav1.ConditionTrue)
			took := time.Since(start)
			Expect(b.Status.LastVerified).NotTo(BeNil())
			made := *b.Status.LastVerified
			before := w.Written()
			Eventually(w.Written).WithContext(ctx).Should(BeNumerically(">", before+20), "%v", w.Failures())
			wipe(ctx, r, b)
			attempted = append(attempted, w.Attempted()...)

			start = time.Now()
			r = builders.Redis(fmt.Sprintf("data-%d", cycle+1)).Storage("64Mi").With(func(s *cachev1alpha1.RedisSpec) {
				s.Bootstrap = &cachev1alpha1.RedisBootstrap{Backup: commonv1.BackupReference{Store: store, Name: name}}
			}).Build()
			create(ctx, r)
			eventuallyReady(ctx, r)
			reportCycle(cycle, confirmed, &made, took, time.Since(start))
			restored := redisKeys(ctx, redisClient(ctx, r, r.Name))
			Expect(missing(confirmed, restored)).To(BeEmpty(), "of %d confirmed before the backup", len(confirmed))
			Expect(missing(restored, attempted)).To(BeEmpty(), "no client wrote it")
		}
	})
})

// wipe deletes the objects and all volumes but the store's.
func wipe(ctx context.Context, all ...client.Object) {
	GinkgoHelper()
	for _, obj := range all {
		Expect(k8s.Delete(ctx, obj)).To(Succeed())
		eventuallyGone(ctx, obj)
	}
	kubectl(ctx, "delete", "persistentvolumeclaims", "--selector=app.kubernetes.io/managed-by=mainstay-operator")
	Expect(strings.Fields(kubectl(ctx, "get", "persistentvolumeclaims", "--output=name"))).To(ConsistOf("persistentvolumeclaim/backups"))
}

// missing are those that are in the first list and not in the second.
func missing(all, from []string) []string {
	has := make(map[string]bool, len(from))
	for _, key := range from {
		has[key] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(key string) bool { return has[key] })
}

// etcdKeys are all keys of an etcd; each has its own name as its value.
func etcdKeys(ctx context.Context, etcd *clientv3.Client) []string {
	GinkgoHelper()
	var keys []string
	Eventually(func(g Gomega, ctx context.Context) {
		reply, err := etcd.Get(ctx, "", clientv3.WithPrefix())
		g.Expect(err).NotTo(HaveOccurred())
		keys = nil
		for _, kv := range reply.Kvs {
			g.Expect(string(kv.Value)).To(Equal(string(kv.Key)))
			keys = append(keys, string(kv.Key))
		}
	}).WithContext(ctx).Should(Succeed())
	return keys
}

// redisKeys are all keys of a Redis.
func redisKeys(ctx context.Context, client *redis.Client) []string {
	GinkgoHelper()
	var keys []string
	Eventually(func() (err error) { // kube-proxy takes up to a second to open the Service
		keys, err = client.Keys(ctx, "*").Result()
		return err
	}).WithContext(ctx).Should(Succeed())
	return keys
}
