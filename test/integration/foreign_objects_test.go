package integration

import (
	"context"
	"maps"
	"net/http"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

var _ = Describe("Strangers:", func() {
	forEachKind("are never touched, named in a condition, and their end heals", func(ctx SpecContext, k kind) {
		calm := k.newNamespace(ctx)
		operate(calm)
		k.create(ctx, calm)
		names, err := childrenIn(ctx, calm)
		Expect(err).NotTo(HaveOccurred())
		for _, place := range slices.Sorted(maps.Keys(names)) {
			By(place + " was there first")
			namespace := k.newNamespace(ctx)
			stranger := strange(names[place], namespace)
			Expect(admin.Create(ctx, stranger)).To(Succeed())
			o := operate(namespace)
			obj := k.sample()
			obj.SetNamespace(namespace)
			Expect(admin.Create(ctx, obj)).To(Succeed())
			expectConflict(ctx, obj, stranger)
			Expect(o.Calls(func(c fault.Call) bool {
				if slices.Contains([]string{"secrets", "configmaps"}, c.Resource) && c.Code == http.StatusConflict {
					return false // those of others are in no cache: to create one is how to meet it
				}
				return writes(c) && c.Name == stranger.GetName() && c.Resource == plural(stranger)
			})).To(BeEmpty())
			Expect(admin.Delete(ctx, stranger)).To(Succeed())
			k.rest(ctx, obj)
			o.stop() // the next has the machine to itself
		}
	})

	forEachKind("that come at the last moment are not adopted", func(ctx SpecContext, k kind) {
		golden, err := crash(ctx, k, "", fault.None)
		Expect(err).NotTo(HaveOccurred())
		calm := k.newNamespace(ctx)
		operate(calm)
		k.create(ctx, calm)
		names, err := childrenIn(ctx, calm)
		Expect(err).NotTo(HaveOccurred())
		for place, child := range names {
			at := slices.IndexFunc(golden.calls, func(id string) bool {
				return id == "apply "+plural(child)+" "+child.GetName()
			})
			if at < 0 {
				continue // not applied but made in the kind's own way
			}
			By(place)
			namespace := k.newNamespace(ctx)
			stranger := strange(child, namespace)
			o, err := launch(namespace, func(c fault.Call) fault.Fault {
				if stranger.GetUID() == "" && c.ID() == golden.calls[at] {
					_ = admin.Create(ctx, stranger) // the spec sees whether it is there
				}
				return fault.None
			}, images)
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(o.stop)
			obj := k.sample()
			obj.SetNamespace(namespace)
			Expect(admin.Create(ctx, obj)).To(Succeed())
			expectConflict(ctx, obj, stranger)
			Expect(admin.Delete(ctx, stranger)).To(Succeed())
			k.rest(ctx, obj)
			o.stop() // the next has the machine to itself
		}
	})

	forEachKind("that replace a child between our look and our write are not touched", func(ctx SpecContext, k kind) {
		if k.edit == nil {
			return // nothing makes it write again
		}
		calm := k.newNamespace(ctx)
		operate(calm)
		names, err := childrenIn(ctx, k.create(ctx, calm, k.edit).GetNamespace())
		Expect(err).NotTo(HaveOccurred())
		for place, child := range names {
			By(place)
			namespace := k.newNamespace(ctx)
			var stranger *unstructured.Unstructured
			armed := false
			o, err := launch(namespace, func(c fault.Call) fault.Fault {
				if armed && c.ID() == "apply "+plural(child)+" "+child.GetName() {
					armed = false
					_ = admin.Delete(ctx, strange(child, namespace), client.GracePeriodSeconds(0))
					stranger = strange(child, namespace)
					_ = admin.Create(ctx, stranger) // the spec sees whether it is there
				}
				return fault.None
			}, images)
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(o.stop)
			obj := k.create(ctx, namespace)
			o.Between(func() { armed = true })
			update(ctx, obj, k.edit)
			Eventually(func() error {
				var replaced bool
				o.Between(func() { replaced = stranger != nil })
				if replaced {
					return nil
				}
				return k.done(ctx, obj) // the edit asks nothing of this child
			}).Should(Succeed())
			if stranger != nil {
				expectConflict(ctx, obj, stranger)
				Expect(admin.Delete(ctx, stranger)).To(Succeed())
				k.rest(ctx, obj)
			}
			o.stop()
		}
	})
})

// plural is how the API server calls the objects of a type.
func plural(obj *unstructured.Unstructured) string {
	resource, _ := meta.UnsafeGuessKindToResource(obj.GroupVersionKind())
	return resource.Resource
}

// strange is an object like the child, of the same name, without a controller.
// Where the type lets it, it shares no field with ours.
func strange(child *unstructured.Unstructured, namespace string) *unstructured.Unstructured {
	made := child.DeepCopy() // of another namespace
	for _, field := range []string{
		"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "ownerReferences", "labels", "annotations",
	} {
		unstructured.RemoveNestedField(made.Object, "metadata", field)
	}
	made.SetNamespace(namespace)
	delete(made.Object, "status")
	switch made.GetKind() {
	case "ConfigMap", "Secret":
		delete(made.Object, "data")
		delete(made.Object, "binaryData")
		delete(made.Object, "type") // which may demand keys
	case "Service":
		made.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "example.org"}
	}
	return made
}

// expectConflict waits for the condition and sees that the stranger stands as it was made.
func expectConflict(ctx context.Context, obj client.Object, stranger *unstructured.Unstructured) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		read, err := live(ctx, obj)
		g.Expect(err).NotTo(HaveOccurred())
		c := conditionOf(read, commonv1.ConditionReady)
		g.Expect(c).NotTo(BeNil())
		g.Expect(c.Reason).To(Equal(commonv1.ReasonNameConflict))
		g.Expect(c.Message).To(ContainSubstring("%s %q", stranger.GetKind(), stranger.GetName()))
	}).Should(Succeed())
	read, err := live(ctx, stranger)
	Expect(err).NotTo(HaveOccurred())
	Expect(read.GetUID()).To(Equal(stranger.GetUID()))
	Expect(metav1.GetControllerOf(read)).To(BeNil())
	for _, entry := range read.GetManagedFields() {
		Expect(entry.Manager).NotTo(Equal("mainstay-operator"), "we wrote to it")
	}
}
