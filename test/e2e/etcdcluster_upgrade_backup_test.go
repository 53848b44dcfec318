package e2e

import (
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/s3"
)

var _ = Describe("EtcdCluster with a backup by a schedule", func() {
	It("goes to the next minor version once another backup is in the store, and not while that refuses", Label(faults), func(ctx SpecContext) {
		Expect(cluster.Provide(ctx, "etcd-images")).To(Succeed())
		b := startS3(ctx, false)
		login := func(secret string) {
			GinkgoHelper()
			edit(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s3-keys", Namespace: namespace}}, func(keys *corev1.Secret) {
				keys.Data["secretAccessKey"] = []byte(secret)
			})
		}
		login("wrong")
		e := builders.EtcdCluster("keys").Version("3.6").Storage("128Mi").Build()
		create(ctx, e)
		eventuallyReady(ctx, e)
		create(ctx, etcdBackup("yearly", e.Name, commonv1.BackupOptions{Store: b.store, Schedule: "0 0 1 1 *"})) // not due in this spec
		before := podUIDs(ctx, "etcd", e.Name)

		edit(ctx, e, func(e *databasev1alpha1.EtcdCluster) { e.Spec.Version = "3.7" })
		Eventually(func(g Gomega) {
			refresh(ctx, e)
			degraded := condition(e, commonv1.ConditionDegraded)
			g.Expect(degraded.Reason).To(Equal(commonv1.ReasonUpgradeBlocked), degraded.Message)
			g.Expect(degraded.Message).To(And(ContainSubstring("SignatureDoesNotMatch"), ContainSubstring(`EtcdBackup "keys-before-3-7"`)))
		}).WithContext(ctx).Should(Succeed())
		Expect(podUIDs(ctx, "etcd", e.Name)).To(Equal(before))
		Expect(e.Status.TargetVersion).To(HavePrefix("3.6."))

		login(s3.SecretAccessKey)
		made := etcdBackup("keys-before-3-7", e.Name, commonv1.BackupOptions{})
		made.Namespace = namespace
		refresh(ctx, made)
		Expect(k8s.Delete(ctx, made)).To(Succeed())
		Eventually(func(g Gomega) {
			refresh(ctx, e)
			g.Expect(e.Status.Version).To(HavePrefix("3.7."), "conditions: %+v", e.Status.Conditions)
			g.Expect(e.Status.ClusterVersion).To(Equal("3.7"))
		}).WithContext(ctx).Should(Succeed())
		eventuallyReady(ctx, e)

		names := b.names(ctx)
		Expect(names).To(HaveLen(3), "what attempts that failed have left is in the bucket")
		item, _, _ := strings.Cut(names[0][strings.LastIndex(names[0], "/")+1:], ".")
		Expect(names).To(Equal(objectsOf("keys-before-3-7", item, "etcd")))
		verified, err := b.StatObject(ctx, s3.Bucket, names[2], minio.StatObjectOptions{})
		Expect(err).NotTo(HaveOccurred())
		for _, pod := range podsOf(ctx, "etcd", e.Name) {
			Expect(pod.UID).NotTo(Equal(before[pod.Name]))
			made := pod.CreationTimestamp.Add(time.Second) // it is in whole seconds
			Expect(verified.LastModified).To(BeTemporally("<=", made), "%s was recreated before", pod.Name)
		}
		Eventually(func(g Gomega) { // what is in the bucket stays
			var left databasev1alpha1.EtcdBackupList
			g.Expect(k8s.List(ctx, &left, client.InNamespace(namespace))).To(Succeed())
			g.Expect(left.Items).To(ConsistOf(HaveField("Name", "yearly")))
		}).WithContext(ctx).Should(Succeed())
		Expect(b.names(ctx)).To(Equal(names))
	}, longest, Label(long))
})
