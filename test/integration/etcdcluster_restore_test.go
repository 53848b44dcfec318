package integration

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// dataSum is the SHA-256 of a backup's data.
const dataSum = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

var _ = Describe("EtcdCluster from a backup", func() {
	const item = "20260102T150405Z-89abcdef"
	from := func() *databasev1alpha1.EtcdBootstrap {
		return &databasev1alpha1.EtcdBootstrap{Backup: commonv1.BackupReference{Name: "nightly",
			Store: commonv1.BackupStore{S3: &commonv1.S3Store{Bucket: "backups", SecretName: "store"}}}}
	}
	restored := func(name, namespace string) *databasev1alpha1.EtcdCluster {
		return builders.EtcdCluster(name).In(namespace).Version("3.6").With(func(s *databasev1alpha1.EtcdClusterSpec) {
			s.Bootstrap = from()
		}).Build()
	}
	set := func(change func(*commonv1.BackupReference)) func(*databasev1alpha1.EtcdClusterSpec) {
		return func(s *databasev1alpha1.EtcdClusterSpec) {
			s.Bootstrap = from()
			change(&s.Bootstrap.Backup)
		}
	}

	// fetched has the kubelet report how the fetch has ended.
	named := func(namespace, pod string) client.Object {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: strings.TrimSuffix(pod, "-restore")}}
	}
	fetched := func(ctx context.Context, obj client.Object, code int32, message string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			pod := &corev1.Pod{}
			name := obj.GetName()
			if !strings.Contains(name, "-restore") {
				name += "-restore"
			}
			g.Expect(admin.Get(ctx, client.ObjectKey{Namespace: obj.GetNamespace(), Name: name}, pod)).To(Succeed())
			g.Expect(pod.Status.Phase).To(Equal(corev1.PodRunning))
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "fetch", State: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error", Message: message}}}}
			g.Expect(admin.Status().Update(ctx, pod)).To(Succeed())
		}).WithContext(ctx).Should(Succeed())
	}

	It("forms with one member once the backup is there, and never before", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		obj := restored("a", namespace)
		Expect(admin.Create(ctx, obj)).To(Succeed())
		fetched(ctx, obj, 1, `{"error":"NoSuchBucket: the bucket does not exist","permanent":true}`)
		expectMessage(ctx, obj, commonv1.ConditionDegraded, "True BackupUnusable: bootstrap.backup: the backup cannot be fetched: NoSuchBucket")
		fetched(ctx, obj, 0, `{"item":{"name":"`+item+`","size":3,"sha256":"`+dataSum+`","serverVersion":"3.7.3"}}`)
		expectMessage(ctx, obj, commonv1.ConditionDegraded, "True BackupUnusable: bootstrap.backup: "+item+" is of etcd 3.7.3")
		var sets appsv1.StatefulSetList
		Expect(admin.List(ctx, &sets, client.InNamespace(namespace))).To(Succeed())
		Expect(sets.Items).To(BeEmpty())

		fetched(ctx, obj, 0, `{"item":{"name":"`+item+`","size":3,"sha256":"`+dataSum+`","serverVersion":"3.6.11"}}`)
		expectMessage(ctx, obj, commonv1.ConditionReady, "waiting for a-0 to start with backup "+item)
		first := &corev1.Pod{}
		Eventually(func(g Gomega) {
			g.Expect(admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "a-0"}, first)).To(Succeed())
			g.Expect(first.Annotations["mainstay-operator.io/etcd-permit"]).To(
				ContainSubstring(`"restore":{"url":"https://127.88.0.9:8443","item":"` + item + `","sha256":"` + dataSum + `"}`))
		}).WithContext(ctx).Should(Succeed())
		Expect(admin.List(ctx, &sets, client.InNamespace(namespace))).To(Succeed())
		Expect(sets.Items).To(HaveLen(1))
		Expect(*sets.Items[0].Spec.Replicas).To(BeEquivalentTo(1))
	})

	It("is restored in place once the backup is there", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		obj := builders.EtcdCluster("a").In(namespace).Version("3.6").Size(1).Build()
		Expect(admin.Create(ctx, obj)).To(Succeed())
		pod := func() *corev1.Pod {
			found := &corev1.Pod{}
			if err := admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "a-0"}, found); err != nil {
				return &corev1.Pod{}
			}
			return found
		}
		permit := func() string { return pod().Annotations["mainstay-operator.io/etcd-permit"] }
		Eventually(permit).WithContext(ctx).Should(ContainSubstring(`"data":`))
		before := pod().UID
		Eventually(func() error { // its servers are not there: it is reported that they have met
			if err := admin.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
				return err
			}
			obj.Status.Membership.ClusterID = "c"
			return admin.Status().Update(ctx, obj)
		}).WithContext(ctx).Should(Succeed())

		asked := &databasev1alpha1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "r"},
			Spec: databasev1alpha1.EtcdRestoreSpec{ClusterName: "a", Backup: from().Backup}}
		Expect(admin.Create(ctx, asked)).To(Succeed())
		source := ""
		Eventually(func(g Gomega) {
			var pods corev1.PodList
			g.Expect(admin.List(ctx, &pods, client.InNamespace(namespace),
				client.MatchingLabels{"app.kubernetes.io/name": "etcd-restore"})).To(Succeed())
			g.Expect(pods.Items).To(HaveLen(1))
			source = pods.Items[0].Name
		}).WithContext(ctx).Should(Succeed())
		fetched(ctx, named(namespace, source), 1, `{"error":"AccessDenied: no","permanent":true}`)
		expectMessage(ctx, asked, commonv1.ConditionProgressing,
			"True Waiting: backup of the EtcdRestore: the backup cannot be fetched: AccessDenied")
		Expect(pod().UID).To(Equal(before), "a backup that cannot be fetched touches nothing")

		fetched(ctx, named(namespace, source), 0, `{"item":{"name":"`+item+`","size":3,"sha256":"`+dataSum+`","serverVersion":"3.6.11"}}`)
		Eventually(permit).WithContext(ctx).Should(ContainSubstring(`"item":"` + item + `","sha256":"` + dataSum +
			`","revisionBump":1000000000}`))
		Expect(pod().UID).NotTo(Equal(before))
		expectMessage(ctx, asked, commonv1.ConditionProgressing, "True Restoring")
	})

	It("leaves a stranger's pod alone", func(ctx SpecContext) {
		namespace, err := makeNamespace(ctx, "privileged")
		Expect(err).NotTo(HaveOccurred())
		stranger := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a-restore"},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "stranger", Image: "example.org/stranger:1"}}}}
		Expect(admin.Create(ctx, stranger)).To(Succeed())
		operate(namespace)
		obj := restored("a", namespace)
		Expect(admin.Create(ctx, obj)).To(Succeed())
		expectMessage(ctx, obj, commonv1.ConditionDegraded, `True NameConflict: Pod "a-restore" exists and belongs to somebody else`)
	})

	DescribeTable("is refused", func(change func(*databasev1alpha1.EtcdClusterSpec), field string) {
		reject(builders.EtcdCluster("a").With(change).Build(), field)
	},
		Entry("without a store", set(func(b *commonv1.BackupReference) { b.Store = commonv1.BackupStore{} }), "store is either s3 or volume"),
		Entry("without the name of what made it", set(func(b *commonv1.BackupReference) { b.Name = "" }), "spec.bootstrap.backup.name"),
		Entry("with an item that is none", set(func(b *commonv1.BackupReference) { b.Item = "latest" }), "spec.bootstrap.backup.item"),
		Entry("with two choices", set(func(b *commonv1.BackupReference) {
			b.Item, b.Before = item, &metav1.Time{Time: metav1.Now().Time}
		}), "item and before each choose a backup"),
	)

	It("is what the sample asks for", func() {
		content, err := os.ReadFile(filepath.Join(root, "config/samples/database_v1alpha1_etcdcluster_restored.yaml"))
		Expect(err).NotTo(HaveOccurred())
		obj := &databasev1alpha1.EtcdCluster{}
		Expect(yaml.UnmarshalStrict(content, obj)).To(Succeed())
		Expect(obj.Spec.Bootstrap).NotTo(BeNil())
		accept(obj)
	})

	DescribeTable("is accepted at the edge", func(change func(*databasev1alpha1.EtcdClusterSpec)) {
		accept(builders.EtcdCluster("a").With(change).Build())
	},
		Entry("the latest", set(func(*commonv1.BackupReference) {})),
		Entry("an item", set(func(b *commonv1.BackupReference) { b.Item = item })),
		Entry("before a time", set(func(b *commonv1.BackupReference) { b.Before = &metav1.Time{Time: metav1.Now().Time} })),
	)

	DescribeTable("is refused a change", func(obj client.Object, next *databasev1alpha1.EtcdBootstrap) {
		rejectUpdate(obj, func(obj client.Object) { obj.(*databasev1alpha1.EtcdCluster).Spec.Bootstrap = next }, "bootstrap cannot change")
	},
		Entry("to none", restored("a", ""), nil),
		Entry("to another", restored("a", ""), &databasev1alpha1.EtcdBootstrap{Backup: commonv1.BackupReference{Name: "other",
			Store: commonv1.BackupStore{Volume: &commonv1.VolumeStore{ClaimName: "backups"}}}}),
		Entry("from none", builders.EtcdCluster("a").Build(), from()),
	)
})
