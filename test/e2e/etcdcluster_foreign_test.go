package e2e

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
)

var _ = Describe("EtcdCluster on a volume of another", Label(faults), func() {
	It("forms no empty cluster next to its data, which stays", func(ctx SpecContext) {
		const class = "bound-by-hand" // its volume is emptied by no one
		folder, remove, err := cluster.SmallDisk(ctx, k8s, class, 512<<20)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) { Expect(remove(ctx)).To(Succeed()) })
		bindVolume(ctx, class, "bound-before")
		former := builders.EtcdCluster("bound-before").Size(1).Storage("64Mi").Build()
		create(ctx, former)
		eventuallyReady(ctx, former)
		data := former.Status.Membership.Members[0].DataID
		Expect(k8s.Delete(ctx, former)).To(Succeed())
		eventuallyGone(ctx, former)
		release(ctx, class, "data-bound-before-0")

		bindVolume(ctx, class, "bound-after")
		e := builders.EtcdCluster("bound-after").Size(1).Storage("64Mi").Build()
		create(ctx, e)
		Eventually(func(g Gomega) {
			refresh(ctx, e)
			degraded := condition(e, commonv1.ConditionDegraded)
			g.Expect(degraded.Reason).To(Equal(commonv1.ReasonDataExists), degraded.Message)
			g.Expect(degraded.Message).To(ContainSubstring("bound-after-0 (" + data + ")"))
		}).WithContext(ctx).Should(Succeed())
		Expect(folder + "/" + e.Status.Membership.Members[0].DataID).NotTo(BeADirectory())

		By("deleting the claim and the pod, for another volume")
		kubectl(ctx, "delete", "--wait=false", "--namespace", namespace, "persistentvolumeclaim/data-bound-after-0", "pod/bound-after-0")
		eventuallyReady(ctx, e)
		Expect(folder + "/" + data + "/member/wal").To(BeADirectory())
	}, longest)
})

// bindVolume makes the claim of an EtcdCluster's first member to the one volume of a class, with the labels by which the operator finds it.
func bindVolume(ctx context.Context, class, name string) {
	GinkgoHelper()
	volume := volumeOf(ctx, class)
	create(ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data-" + name + "-0", Labels: map[string]string{"app.kubernetes.io/name": "etcd",
			"app.kubernetes.io/instance": name, "app.kubernetes.io/managed-by": "mainstay-operator"}},
		Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume.Name, StorageClassName: &volume.Spec.StorageClassName,
			AccessModes: volume.Spec.AccessModes,
			Resources:   corev1.VolumeResourceRequirements{Requests: volume.Spec.Capacity}},
	})
}

// release deletes a claim, and lets another have its volume with what is on it.
func release(ctx context.Context, class, claim string) {
	GinkgoHelper()
	gone := &corev1.PersistentVolumeClaim{}
	Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: claim}, gone)).To(Succeed())
	Expect(k8s.Delete(ctx, gone)).To(Succeed())
	eventuallyGone(ctx, gone)
	kubectl(ctx, "patch", "persistentvolume", volumeOf(ctx, class).Name, "--type=merge", "--patch", `{"spec":{"claimRef":null}}`)
}

// volumeOf is the one volume of a class.
func volumeOf(ctx context.Context, class string) corev1.PersistentVolume {
	GinkgoHelper()
	var list corev1.PersistentVolumeList
	Expect(k8s.List(ctx, &list)).To(Succeed())
	list.Items = slices.DeleteFunc(list.Items, func(v corev1.PersistentVolume) bool { return v.Spec.StorageClassName != class })
	Expect(list.Items).To(HaveLen(1))
	return list.Items[0]
}
