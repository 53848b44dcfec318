package integration

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

var _ = Describe("Redis' volumes", func() {
	It("grow with storage.size, and no pod notices", func(ctx SpecContext) {
		namespace, r := stored(ctx, true)
		restart := []byte(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"}}}}}`)
		Expect(admin.Patch(ctx, setOf(ctx, r), client.RawPatch(types.StrategicMergePatchType, restart))).To(Succeed())
		var before map[string]types.UID
		Eventually(func(g Gomega) {
			before = podsIn(ctx, namespace, "kubectl.kubernetes.io/restartedAt", "now")
			g.Expect(before).To(HaveLen(2))
		}).Should(Succeed())
		made := setOf(ctx, r).UID

		resize(ctx, r, "2Gi")
		Eventually(checkCondition).WithArguments(ctx, r, commonv1.ConditionStorageResizing, metav1.ConditionTrue,
			commonv1.ReasonResizing).Should(Succeed())
		Eventually(func(g Gomega) {
			for _, claim := range claimsIn(ctx, namespace) {
				g.Expect(claim.Spec.Resources.Requests.Storage().String()).To(Equal("2Gi"), claim.Name)
			}
			set := setOf(ctx, r)
			g.Expect(set.UID).NotTo(Equal(made))
			g.Expect(set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests.Storage().String()).To(Equal("2Gi"))
			g.Expect(set.Status.Replicas).To(BeEquivalentTo(2), "it has its pods back")
		}).Should(Succeed())
		Expect(podsIn(ctx, namespace, "kubectl.kubernetes.io/restartedAt", "now")).To(Equal(before))

		for _, claim := range claimsIn(ctx, namespace) {
			claim.Status.Capacity[corev1.ResourceStorage] = resource.MustParse("2Gi")
			Expect(admin.Status().Update(ctx, &claim)).To(Succeed())
		}
		Eventually(checkCondition).WithArguments(ctx, r, commonv1.ConditionStorageResizing, metav1.ConditionFalse,
			commonv1.ReasonResized).Should(Succeed())
		update(ctx, r, func(obj client.Object) { obj.(*cachev1alpha1.Redis).Spec.Size = ptr.To[int32](3) })
		Eventually(func(g Gomega) {
			claims := claimsIn(ctx, namespace)
			g.Expect(claims).To(HaveLen(3))
			g.Expect(claims[2].Spec.Resources.Requests.Storage().String()).To(Equal("2Gi"))
		}).Should(Succeed())
	})

	It("that cannot grow say why, stay as they are, and heal", func(ctx SpecContext) {
		namespace, r := stored(ctx, false)
		before, made := podsIn(ctx, namespace, "", ""), setOf(ctx, r).UID
		resize(ctx, r, "2Gi")
		Eventually(checkCondition).WithArguments(ctx, r, commonv1.ConditionStorageResizing, metav1.ConditionTrue,
			commonv1.ReasonRefusedByServer).Should(Succeed())
		Expect(checkCondition(ctx, r, commonv1.ConditionDegraded, metav1.ConditionTrue, commonv1.ReasonRefusedByServer)).To(Succeed())
		read, err := live(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		Expect(conditionOf(read, commonv1.ConditionStorageResizing).Message).To(And(
			HavePrefix("storage.size: "), ContainSubstring("must support resize")))
		Expect(podsIn(ctx, namespace, "", "")).To(Equal(before))
		Expect(setOf(ctx, r).UID).To(Equal(made))

		class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		Expect(admin.Patch(ctx, class, client.RawPatch(types.MergePatchType, []byte(`{"allowVolumeExpansion":true}`)))).To(Succeed())
		touch(ctx, r, 1)
		Eventually(checkCondition).WithArguments(ctx, r, commonv1.ConditionStorageResizing, metav1.ConditionTrue,
			commonv1.ReasonResizing).Should(Succeed())
		Eventually(checkCondition).WithArguments(ctx, r, commonv1.ConditionDegraded, metav1.ConditionFalse).Should(Succeed())
	})

	It("that cannot grow let storage.size go back", func(ctx SpecContext) {
		namespace, r := stored(ctx, false)
		before, made := podsIn(ctx, namespace, "", ""), setOf(ctx, r).UID
		resize(ctx, r, "2Gi")
		Eventually(checkCondition).WithArguments(ctx, r, commonv1.ConditionDegraded, metav1.ConditionTrue,
			commonv1.ReasonRefusedByServer).Should(Succeed())
		resize(ctx, r, "1Gi")
		Eventually(checkCondition).WithArguments(ctx, r, commonv1.ConditionDegraded, metav1.ConditionFalse).Should(Succeed())
		Expect(checkCondition(ctx, r, commonv1.ConditionStorageResizing, metav1.ConditionFalse, commonv1.ReasonResized)).To(Succeed())
		Expect(podsIn(ctx, namespace, "", "")).To(Equal(before))
		Expect(setOf(ctx, r).UID).To(Equal(made))
	})

	It("that have grown do not shrink, and storage.size says so", func(ctx SpecContext) {
		namespace, r := stored(ctx, true)
		resize(ctx, r, "2Gi")
		Eventually(func(g Gomega) {
			g.Expect(setOf(ctx, r).Spec.VolumeClaimTemplates[0].Spec.Resources.Requests.Storage().String()).To(Equal("2Gi"))
			g.Expect(setOf(ctx, r).Status.Replicas).To(BeEquivalentTo(2))
		}).Should(Succeed())
		before, made := podsIn(ctx, namespace, "", ""), setOf(ctx, r).UID
		resize(ctx, r, "1Gi")
		Eventually(checkCondition).WithArguments(ctx, r, commonv1.ConditionDegraded, metav1.ConditionTrue,
			commonv1.ReasonInvalidSpec).Should(Succeed())
		Expect(checkCondition(ctx, r, commonv1.ConditionReady, metav1.ConditionFalse, commonv1.ReasonInvalidSpec)).To(Succeed())
		for _, claim := range claimsIn(ctx, namespace) {
			Expect(claim.Spec.Resources.Requests.Storage().String()).To(Equal("2Gi"), claim.Name)
		}
		Expect(podsIn(ctx, namespace, "", "")).To(Equal(before))
		Expect(setOf(ctx, r).UID).To(Equal(made))
		resize(ctx, r, "2Gi")
		Eventually(checkCondition).WithArguments(ctx, r, commonv1.ConditionDegraded, metav1.ConditionFalse).Should(Succeed())
	})

	It("keep the data while it hibernates", func(ctx SpecContext) {
		namespace, r := stored(ctx, true)
		before := claimsIn(ctx, namespace)
		update(ctx, r, func(obj client.Object) {
			obj.(*cachev1alpha1.Redis).Spec.Hibernate = true
			obj.(*cachev1alpha1.Redis).Spec.Storage.Retention = cachev1alpha1.RedisDelete
		})
		Eventually(checkCondition).WithArguments(ctx, r, commonv1.ConditionReady, metav1.ConditionTrue,
			commonv1.ReasonHibernated).Should(Succeed())
		Expect(checkCondition(ctx, r, commonv1.ConditionAvailable, metav1.ConditionFalse, commonv1.ReasonHibernated)).To(Succeed())
		Expect(podsIn(ctx, namespace, "", "")).To(BeEmpty())
		Expect(setOf(ctx, r).Spec.PersistentVolumeClaimRetentionPolicy.WhenScaled).To(BeEquivalentTo("Retain"))
		found, err := childrenIn(ctx, namespace)
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(And(HaveKey("Service/a-headless"), HaveKey("Service/a-replicas"), HaveKey("Secret/a-auth"), HaveKey("Secret/a-system")))

		update(ctx, r, func(obj client.Object) { obj.(*cachev1alpha1.Redis).Spec.Paused = true })
		Eventually(checkCondition).WithArguments(ctx, r, commonv1.ConditionPaused, metav1.ConditionTrue).Should(Succeed())
		update(ctx, r, func(obj client.Object) { obj.(*cachev1alpha1.Redis).Spec.Hibernate = false })
		Consistently(func() map[string]types.UID { return podsIn(ctx, namespace, "", "") }).Should(BeEmpty(), "paused holds it back")
		update(ctx, r, func(obj client.Object) { obj.(*cachev1alpha1.Redis).Spec.Paused = false })
		Eventually(func() map[string]types.UID { return podsIn(ctx, namespace, "", "") }).Should(HaveLen(2))
		for i, claim := range claimsIn(ctx, namespace) {
			Expect(claim.UID).To(Equal(before[i].UID))
		}
	})

	It("are kept or not as storage.retention says by now", func(ctx SpecContext) {
		namespace, r := stored(ctx, true)
		before, made := podsIn(ctx, namespace, "", ""), setOf(ctx, r).UID
		for _, want := range []cachev1alpha1.RedisRetention{cachev1alpha1.RedisDelete, cachev1alpha1.RedisRetain} {
			update(ctx, r, func(obj client.Object) { obj.(*cachev1alpha1.Redis).Spec.Storage.Retention = want })
			Eventually(func(g Gomega) {
				policy := setOf(ctx, r).Spec.PersistentVolumeClaimRetentionPolicy
				g.Expect(policy.WhenDeleted).To(BeEquivalentTo("Retain"))
				g.Expect(policy.WhenScaled).To(BeEquivalentTo("Retain"))
				for _, claim := range claimsIn(ctx, namespace) {
					owned := slices.ContainsFunc(claim.OwnerReferences, func(owner metav1.OwnerReference) bool { return owner.UID == r.UID })
					g.Expect(owned).To(Equal(want == cachev1alpha1.RedisDelete), claim.Name)
				}
			}).Should(Succeed())
		}
		Expect(setOf(ctx, r).UID).To(Equal(made))
		Expect(podsIn(ctx, namespace, "", "")).To(Equal(before))
	})
})

// stored is a Redis on volumes of a class that can grow or cannot.
func stored(ctx context.Context, grows bool) (string, *cachev1alpha1.Redis) {
	GinkgoHelper()
	namespace := newNamespace(ctx)
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: namespace}, Provisioner: "example.org/none",
		AllowVolumeExpansion: &grows}
	Expect(admin.Create(ctx, class)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) error { return client.IgnoreNotFound(admin.Delete(ctx, class)) })
	if grows {
		operate(namespace)
	} else { // what a class does not allow is forbidden, whatever the role
		o, err := launch(namespace, nil, images)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(o.stop)
	}
	r := builders.Redis("a").Size(2).Storage("1Gi").Build()
	r.Namespace, r.Spec.Storage.StorageClassName = namespace, &class.Name
	Expect(admin.Create(ctx, r)).To(Succeed())
	Eventually(func() []corev1.PersistentVolumeClaim { return claimsIn(ctx, namespace) }).Should(HaveLen(2))
	Eventually(func() map[string]types.UID { return podsIn(ctx, namespace, "", "") }).Should(HaveLen(2))
	return namespace, r
}

func resize(ctx context.Context, r *cachev1alpha1.Redis, size string) {
	GinkgoHelper()
	update(ctx, r, func(obj client.Object) { obj.(*cachev1alpha1.Redis).Spec.Storage.Size = resource.MustParse(size) })
}

// setOf is the StatefulSet, as soon as there is one.
func setOf(ctx context.Context, r *cachev1alpha1.Redis) *appsv1.StatefulSet {
	GinkgoHelper()
	set := &appsv1.StatefulSet{}
	Eventually(func() error { return admin.Get(ctx, client.ObjectKeyFromObject(r), set) }).Should(Succeed())
	return set
}

func claimsIn(ctx context.Context, namespace string) []corev1.PersistentVolumeClaim {
	GinkgoHelper()
	var list corev1.PersistentVolumeClaimList
	Expect(admin.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
	return list.Items
}

// podsIn are the pods with that annotation, or all, by name.
func podsIn(ctx context.Context, namespace, annotation, value string) map[string]types.UID {
	GinkgoHelper()
	var list corev1.PodList
	Expect(admin.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
	found := map[string]types.UID{}
	for _, pod := range list.Items {
		if annotation == "" || pod.Annotations[annotation] == value {
			found[pod.Name] = pod.UID
		}
	}
	return found
}
