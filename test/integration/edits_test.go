package integration

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

var _ = Describe("Edits:", func() {
	forEachKind("ends where a fresh object ends, whatever it was before", func(ctx SpecContext, k kind) {
		if k.edit == nil {
			return // its spec is immutable, as its admission specs prove
		}
		fresh := func(change ...func(client.Object)) string {
			GinkgoHelper()
			namespace := k.newNamespace(ctx)
			o := operate(namespace)
			return stateAtRest(ctx, o, k, k.create(ctx, namespace, change...))
		}
		first, second := fresh(), fresh(k.edit)
		Expect(first).NotTo(Equal(second))

		namespace := k.newNamespace(ctx)
		o := operate(namespace)
		obj := k.create(ctx, namespace)
		update(ctx, obj, k.edit)
		Expect(firstDifference(second, stateAtRest(ctx, o, k, obj))).To(Equal(same), "after v1, v2")
		sample := k.sample()
		update(ctx, obj, func(o client.Object) { setSpec(o, sample) })
		Expect(firstDifference(first, stateAtRest(ctx, o, k, obj))).To(Equal(same), "after v1, v2, v1")
	})

	forEachKind("leaves no child when it is deleted, and starts over under the same name", func(ctx SpecContext, k kind) {
		namespace := k.newNamespace(ctx)
		o := operate(namespace)
		obj := k.create(ctx, namespace)
		before := stateAtRest(ctx, o, k, obj)
		Expect(admin.Delete(ctx, obj)).To(Succeed())
		obj = k.sample()
		obj.SetNamespace(namespace)
		Eventually(func() error { return admin.Create(ctx, obj) }).Should(Succeed())
		Expect(firstDifference(before, stateAtRest(ctx, o, k, obj))).To(Equal(same))

		Expect(admin.Delete(ctx, obj)).To(Succeed())
		Eventually(func() map[string]string { return versions(ctx, namespace) }).Should(BeEmpty())
		Consistently(func() map[string]string { return versions(ctx, namespace) }).Should(BeEmpty())
	})

	forEachKind("follows its scale subresource", func(ctx SpecContext, k kind) {
		if !k.scaled {
			return // it has no size
		}
		namespace := k.newNamespace(ctx)
		operate(namespace)
		obj := k.create(ctx, namespace)
		for _, size := range []int32{k.smallest, 2} { // as an autoscaler does
			scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: size}}
			Expect(admin.SubResource("scale").Update(ctx, obj, client.WithSubResourceBody(scale))).To(Succeed())
			k.rest(ctx, obj)
			status, counted := measured(ctx, obj)
			Expect(status.Replicas).To(Equal(size))
			Expect(counted).To(HaveLen(int(size)))
		}
	})

	forEachKind("writes nothing while paused, then catches up", func(ctx SpecContext, k kind) {
		if k.paused == nil {
			return // it cannot be paused
		}
		namespace := k.newNamespace(ctx)
		o := operate(namespace)
		obj := k.create(ctx, namespace)
		k.rest(ctx, obj)
		waitForRest(o)
		update(ctx, obj, func(obj client.Object) { k.paused(obj, true) })
		Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionPaused, metav1.ConditionTrue).Should(Succeed())
		read, err := live(ctx, obj)
		Expect(err).NotTo(HaveOccurred())
		Expect(conditionOf(read, commonv1.ConditionReady).Reason).NotTo(Equal(commonv1.ReasonSpecPaused), "nothing is held back")
		update(ctx, obj, func(obj client.Object) { k.edit(obj); k.paused(obj, true) })
		Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionReady, metav1.ConditionFalse,
			commonv1.ReasonSpecPaused).Should(Succeed())
		Expect(checkCondition(ctx, obj, commonv1.ConditionProgressing, metav1.ConditionFalse, commonv1.ReasonSpecPaused)).To(Succeed())
		waitForRest(o)
		found, err := childrenIn(ctx, namespace)
		Expect(err).NotTo(HaveOccurred())
		for _, child := range found {
			Expect(admin.Delete(ctx, child)).To(Succeed())
		}
		Consistently(o.Calls).WithArguments(func(c fault.Call) bool {
			return writes(c) && !strings.HasSuffix(c.Resource, "/status")
		}).Should(BeEmpty())

		update(ctx, obj, func(obj client.Object) { k.paused(obj, false) })
		k.rest(ctx, obj)
		Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionPaused, metav1.ConditionFalse).Should(Succeed())
	})

	forEachKind("reports what happened, once per turn", func(ctx SpecContext, k kind) {
		namespace := k.newNamespace(ctx)
		operate(namespace)
		obj := k.create(ctx, namespace)
		if k.paused != nil {
			update(ctx, obj, func(obj client.Object) { k.paused(obj, true) })
		}
		Eventually(func(g Gomega) {
			var list eventsv1.EventList
			g.Expect(admin.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
			g.Expect(list.Items).To(ContainElement(HaveField("Regarding.UID", obj.GetUID())))
		}).Should(Succeed())
	})

	forEachKind("takes its sample file, twice", func(ctx SpecContext, k kind) {
		namespace := k.newNamespace(ctx)
		o := operate(namespace)
		user, err := cluster.AddUser(envtest.User{Name: "someone", Groups: []string{"system:masters"}}, nil)
		Expect(err).NotTo(HaveOccurred())
		kubectl, err := user.Kubectl()
		Expect(err).NotTo(HaveOccurred())
		file := filepath.Join(root, "config/samples", k.sampleFile)
		apply := func() []*unstructured.Unstructured {
			GinkgoHelper()
			_, stderr, err := kubectl.Run("apply", "-n", namespace, "-f", file)
			Expect(err).NotTo(HaveOccurred(), func() string { return fmt.Sprint(stderr) })
			return ofKind(ctx, namespace, k)
		}
		for _, obj := range apply() {
			k.rest(ctx, obj)
		}
		waitForRest(o)
		before, at := ofKind(ctx, namespace, k), versions(ctx, namespace)
		Expect(apply()).To(Equal(before))
		Consistently(func() map[string]string { return versions(ctx, namespace) }).Should(Equal(at))
	})
})

// stateAtRest is the state of an object and its children once nothing changes any more.
func stateAtRest(ctx context.Context, o *operator, k kind, obj client.Object) string {
	GinkgoHelper()
	ended, err := o.waitForOutcome(ctx, k, obj)
	Expect(err).NotTo(HaveOccurred())
	return ended.state
}

// measured is what an autoscaler learns of an object: its scale, and the pods that it counts.
func measured(ctx context.Context, obj client.Object) (autoscalingv1.ScaleStatus, []corev1.Pod) {
	GinkgoHelper()
	var scale autoscalingv1.Scale
	Expect(admin.SubResource("scale").Get(ctx, obj, &scale)).To(Succeed())
	selector, err := labels.Parse(scale.Status.Selector)
	Expect(err).NotTo(HaveOccurred())
	Expect(selector.Empty()).To(BeFalse(), "it would count every pod there is")
	var pods corev1.PodList
	Expect(admin.List(ctx, &pods, client.InNamespace(obj.GetNamespace()), client.MatchingLabelsSelector{Selector: selector})).To(Succeed())
	return scale.Status, pods.Items
}

// setSpec gives an object of any kind the spec of another.
func setSpec(obj, from client.Object) {
	GinkgoHelper()
	reflect.ValueOf(obj).Elem().FieldByName("Spec").Set(reflect.ValueOf(from).Elem().FieldByName("Spec"))
}

// ofKind gives all objects of a kind in a namespace.
func ofKind(ctx context.Context, namespace string, k kind) []*unstructured.Unstructured {
	GinkgoHelper()
	gvk, err := admin.GroupVersionKindFor(k.sample())
	Expect(err).NotTo(HaveOccurred())
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	Expect(admin.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	Expect(list.Items).NotTo(BeEmpty())
	var objects []*unstructured.Unstructured
	for i := range list.Items {
		objects = append(objects, &list.Items[i])
	}
	return objects
}
