package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// backedUp makes a verified backup of an EtcdCluster, and gives a reference to it.
func backedUp(ctx context.Context, name, cluster string, store commonv1.BackupStore) commonv1.BackupReference {
	GinkgoHelper()
	b := etcdBackup(name, cluster, commonv1.BackupOptions{Store: store})
	create(ctx, b)
	eventually(ctx, b, commonv1.ConditionComplete, metav1.ConditionTrue)
	return commonv1.BackupReference{Store: store, Name: name}
}

func etcdRestore(name, cluster string, from commonv1.BackupReference) *databasev1alpha1.EtcdRestore {
	return &databasev1alpha1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: databasev1alpha1.EtcdRestoreSpec{ClusterName: cluster, Backup: from}}
}

var _ = Describe("EtcdRestore", func() {
	It("puts a backup in the place of the data, and earlier watches notice", func(ctx SpecContext) {
		claim(ctx, "backups")
		e := builders.EtcdCluster("keys").Storage("128Mi").Build()
		create(ctx, e)
		eventuallyReady(ctx, e)
		etcd := dialEtcd(e, nil)
		put := func(key string) int64 {
			GinkgoHelper()
			var revision int64
			Eventually(func(ctx context.Context) error {
				reply, err := etcd.Put(ctx, key, key)
				if err == nil {
					revision = reply.Header.Revision
				}
				return err
			}).WithContext(ctx).Should(Succeed())
			return revision
		}
		put("before")
		from := backedUp(ctx, "once", e.Name, builders.Volume("backups"))
		after := put("after")

		By("refusing a backup that is not there, before anything is touched")
		pods := podUIDs(ctx, "etcd", "keys")
		missing := from
		missing.Name = "missing"
		bad := etcdRestore("bad", e.Name, missing)
		create(ctx, bad)
		Eventually(func(g Gomega) {
			refresh(ctx, bad)
			g.Expect(condition(bad, commonv1.ConditionProgressing).Message).To(ContainSubstring("missing"))
		}).WithContext(ctx).Should(Succeed())
		Expect(podUIDs(ctx, "etcd", "keys")).To(Equal(pods))
		Expect(k8s.Delete(ctx, bad)).To(Succeed())

		By("restoring")
		r := etcdRestore("back", e.Name, from)
		create(ctx, r)
		eventually(ctx, r, commonv1.ConditionComplete, metav1.ConditionTrue)
		eventuallyReady(ctx, e)
		Expect(e.Status.ReadyReplicas).To(BeEquivalentTo(3))
		Expect(etcdKeys(ctx, etcd)).To(ConsistOf("before"))
		watching, stop := context.WithTimeout(ctx, time.Minute)
		defer stop()
		response := <-etcd.Watch(watching, "after", clientv3.WithRev(after))
		Expect(response.CompactRevision).To(BeNumerically(">", after), "an earlier watch continues as if nothing had happened: %v",
			response.Err())
		Expect(put("later")).To(BeNumerically(">", after))
	}, longest)
})
