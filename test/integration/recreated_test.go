package integration

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

var _ = Describe("After a former object of its name,", func() {
	forEachKind("makes no StatefulSet while a pod of the former one stands", func(ctx SpecContext, k kind) {
		calm := k.newNamespace(ctx)
		o := operate(calm)
		k.create(ctx, calm)
		sets := statefulSets(ctx, calm)
		o.stop()
		if len(sets) == 0 {
			return // its pods have names of their own
		}
		namespace := k.newNamespace(ctx)
		former := podOf(&sets[0], namespace)
		Expect(admin.Create(ctx, former)).To(Succeed())
		operate(namespace)
		obj := k.sample()
		obj.SetNamespace(namespace)
		Expect(admin.Create(ctx, obj)).To(Succeed())
		Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionProgressing, metav1.ConditionTrue,
			commonv1.ReasonWaiting).Should(Succeed())
		Expect(statefulSets(ctx, namespace)).To(BeEmpty())
		update(ctx, former, func(o client.Object) { o.SetFinalizers(nil) })
		k.rest(ctx, obj)
	})

	forEachKind("makes no workload before what its pods start with", func(ctx SpecContext, k kind) {
		calm := k.newNamespace(ctx)
		o := operate(calm)
		k.create(ctx, calm)
		found, err := childrenIn(ctx, calm)
		Expect(err).NotTo(HaveOccurred())
		o.stop()
		for place, child := range found {
			if child.GetKind() != "Secret" {
				continue
			}
			By(place)
			namespace := k.newNamespace(ctx)
			former := strange(child, namespace)
			Expect(admin.Create(ctx, former)).To(Succeed())
			o := operate(namespace)
			obj := k.sample()
			obj.SetNamespace(namespace)
			Expect(admin.Create(ctx, obj)).To(Succeed())
			expectConflict(ctx, obj, former)
			Expect(statefulSets(ctx, namespace)).To(BeEmpty())
			Expect(admin.Delete(ctx, former)).To(Succeed())
			k.rest(ctx, obj)
			o.stop() // the next has the machine to itself
		}
	})
})

func statefulSets(ctx context.Context, namespace string) []appsv1.StatefulSet {
	GinkgoHelper()
	var sets appsv1.StatefulSetList
	Expect(admin.List(ctx, &sets, client.InNamespace(namespace))).To(Succeed())
	return sets.Items
}

// podOf a former StatefulSet of that name, its last.
func podOf(set *appsv1.StatefulSet, namespace string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: *set.Spec.Template.ObjectMeta.DeepCopy(), Spec: *set.Spec.Template.Spec.DeepCopy()}
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].VolumeMounts = nil // of volumes that it would get from claims
	}
	pod.Finalizers = []string{"test.mainstay-operator.io/stays"} // the garbage collector is at it
	pod.Namespace, pod.Name = namespace, set.Name+"-1"
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(
		&metav1.ObjectMeta{Name: set.Name, UID: "former"}, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
	return pod
}
