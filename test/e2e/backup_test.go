package e2e

import (
	"context"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/s3"
)

func etcdBackup(name, cluster string, o commonv1.BackupOptions) *databasev1alpha1.EtcdBackup {
	return &databasev1alpha1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: databasev1alpha1.EtcdBackupSpec{ClusterName: cluster, BackupOptions: o}}
}

func redisBackup(name, redis string, o commonv1.BackupOptions) *cachev1alpha1.RedisBackup {
	return &cachev1alpha1.RedisBackup{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: cachev1alpha1.RedisBackupSpec{RedisName: redis, BackupOptions: o}}
}

// names of all objects in the bucket, sorted.
func (b bucket) names(ctx context.Context) []string {
	GinkgoHelper()
	var list []string
	for object := range b.ListObjects(ctx, s3.Bucket, minio.ListObjectsOptions{Recursive: true}) {
		Expect(object.Err).NotTo(HaveOccurred())
		list = append(list, object.Key)
	}
	slices.Sort(list)
	return list
}

// objectsOf is what a verified backup is in a bucket.
func objectsOf(name, item, kind string) []string {
	of := namespace + "/" + name + "/" + item + "." + kind
	return []string{of + ".data", of + ".json", of + ".verified"}
}

var _ = Describe("Backups", Label(faults), func() {
	It("of an EtcdCluster and of a Redis under a writer are in the bucket, and a server was started from each", func(ctx SpecContext) {
		b := startS3(ctx, true)
		e := builders.EtcdCluster("keys").Storage("128Mi").Build()
		r := builders.Redis("data").Build()
		create(ctx, e)
		create(ctx, r)
		eventuallyReady(ctx, e)
		eventuallyReady(ctx, r)
		puts, writes := puttingBy(ctx, dialEtcd(e, nil)), writing(ctx, r)

		ofEtcd := etcdBackup("keys", e.Name, commonv1.BackupOptions{Store: b.store, Retention: &commonv1.BackupRetention{KeepLast: ptr.To[int32](1)}})
		ofRedis := redisBackup("data", r.Name, commonv1.BackupOptions{Store: b.store})
		create(ctx, ofEtcd)
		create(ctx, ofRedis)
		eventually(ctx, ofEtcd, commonv1.ConditionComplete, metav1.ConditionTrue)
		eventually(ctx, ofRedis, commonv1.ConditionComplete, metav1.ConditionTrue)
		Expect(ofEtcd.Status.LastVerified.Revision).To(BeNumerically(">", 1))
		Expect(ofRedis.Status.LastVerified.Offset).To(BeNumerically(">", 0))
		first := ofEtcd.Status.LastVerified.Name
		Expect(b.names(ctx)).To(Equal(append(objectsOf("data", ofRedis.Status.LastVerified.Name, "redis"), objectsOf("keys", first, "etcd")...)))

		By("making one of the same name again, which keeps the last alone")
		Expect(k8s.Delete(ctx, ofEtcd)).To(Succeed())
		eventuallyGone(ctx, ofEtcd)
		ofEtcd = etcdBackup("keys", e.Name, ofEtcd.Spec.BackupOptions)
		create(ctx, ofEtcd)
		eventually(ctx, ofEtcd, commonv1.ConditionComplete, metav1.ConditionTrue)
		Expect(ofEtcd.Status.LastVerified.Name).NotTo(Equal(first))
		Expect(b.names(ctx)).To(Equal(append(objectsOf("data", ofRedis.Status.LastVerified.Name, "redis"), objectsOf("keys", ofEtcd.Status.LastVerified.Name, "etcd")...)))

		puts.hasLostNothing(ctx)
		Expect(refusals(writes)).To(BeEmpty())
		Expect(writes.Lost(ctx)).To(BeEmpty())
		refresh(ctx, r)
		Expect(r.Status.Epoch).To(BeEquivalentTo(1))
		for kind, name := range map[string]string{"etcdbackup": "keys", "redisbackup": "data"} {
			Eventually(podsOf).WithArguments(ctx, kind, name).WithContext(ctx).Should(BeEmpty())
		}
		// Secrets are in Secrets alone.
		everywhere := kubectl(ctx, "get", "etcdbackups,redisbackups,pods,events", "--output=yaml", "--selector=app!=s3") +
			kubectl(ctx, "logs", "--namespace", operatorNamespace, "--selector=control-plane=controller-manager", "--tail=-1")
		Expect(strings.Contains(everywhere, s3.SecretAccessKey)).To(BeFalse(), "a secret of the store is where it can be read")
	})

	It("say in the store's own words why there is none, and leave nothing behind", func(ctx SpecContext) {
		b := startS3(ctx, false)
		r := builders.Redis("data").Size(1).Build()
		create(ctx, r)
		eventuallyReady(ctx, r)
		store := *b.store.S3.DeepCopy()
		store.Bucket = "missing"
		bad := redisBackup("data", r.Name, commonv1.BackupOptions{Store: commonv1.BackupStore{S3: &store}})
		create(ctx, bad)
		degraded := eventually(ctx, bad, commonv1.ConditionDegraded, metav1.ConditionTrue)
		Expect(degraded.Message).To(ContainSubstring("bucket does not exist"))
		Expect(b.names(ctx)).To(BeEmpty())
	})

	It("are made each minute onto a volume by two schedules at once, and only the last one of each is kept", func(ctx SpecContext) {
		claim(ctx, "backups")
		e := builders.EtcdCluster("keys").Size(1).Build()
		r := builders.Redis("cart").Size(2).Build()
		create(ctx, e)
		create(ctx, r)
		eventuallyReady(ctx, e)
		eventuallyReady(ctx, r)
		kept := commonv1.BackupRetention{KeepLast: ptr.To[int32](1)}
		var all []backup
		for _, name := range []string{"minutely", "minutely-too"} {
			all = append(all, builders.EtcdBackup(name, "keys", builders.Volume("backups")).With(func(s *databasev1alpha1.EtcdBackupSpec) {
				s.Schedule, s.Retention = "* * * * *", &kept
			}).Build(), builders.RedisBackup(name, "cart", builders.Volume("backups")).With(func(s *cachev1alpha1.RedisBackupSpec) {
				s.Schedule, s.Retention = "* * * * *", &kept
			}).Build())
		}
		for _, b := range all {
			create(ctx, b)
		}
		for _, b := range all {
			status, first := b.GetBackupStatus(), ""
			Eventually(func(g Gomega) {
				refresh(ctx, b)
				g.Expect(status.LastVerified).NotTo(BeNil(), "conditions: %+v", status.Conditions)
				first = status.LastVerified.Name
			}).WithContext(ctx).Should(Succeed())
			Eventually(func(g Gomega) {
				refresh(ctx, b)
				g.Expect(status.LastVerified.Name).NotTo(Equal(first), "conditions: %+v", status.Conditions)
				g.Expect(status.Items).To(ConsistOf(*status.LastVerified))
			}).WithContext(ctx).Should(Succeed())
		}
	}, longest)
})
