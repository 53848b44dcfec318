package integration

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// spokenOf is nil once the operator has said anything of the object.
func spokenOf(ctx context.Context, obj client.Object) error {
	read, err := live(ctx, obj)
	if err == nil && conditionOf(read, commonv1.ConditionProgressing) == nil {
		err = errors.New("nobody has looked at it")
	}
	return err
}

// A schema admits quantities that Go cannot read, and statuses anything of the right type.
// Of a list that holds one object with such a value, a client otherwise reads nothing.
var _ = Describe("an object that cannot be read", func() {
	const limit = "example.org/gpu"
	forEachKind("keeps the operator from no other, says which field it is, and heals", func(ctx SpecContext, k kind) {
		namespace := k.place(ctx)
		obj := k.sample()
		obj.SetNamespace(namespace)
		Expect(admin.Create(ctx, obj)).To(Succeed())
		set := func(spec, status any) {
			GinkgoHelper()
			read, err := live(ctx, obj)
			Expect(err).NotTo(HaveOccurred())
			if k.name == "Activity" {
				read.Object["status"] = map[string]any{"duration": status, "attempts": []any{}}
				Expect(admin.Status().Update(ctx, read)).To(Succeed())
				return
			}
			Expect(unstructured.SetNestedField(read.Object, spec, "spec", "resources", "limits", limit)).To(Succeed())
			Expect(admin.Update(ctx, read)).To(Succeed())
		}
		set("1e1.5", "soon")

		o := operate(namespace)
		other := k.sample()
		other.SetNamespace(namespace)
		other.SetName("other")
		Expect(admin.Create(ctx, other)).To(Succeed())
		Eventually(stands).WithArguments(ctx, obj, commonv1.ConditionDegraded, metav1.ConditionTrue, commonv1.ReasonInvalid).Should(Succeed())
		read, err := live(ctx, obj)
		Expect(err).NotTo(HaveOccurred())
		Expect(conditionOf(read, commonv1.ConditionDegraded).Message).To(Or(HavePrefix("resources: "), HavePrefix("status.duration: ")))
		Eventually(func() error { return spokenOf(ctx, other) }).Should(Succeed())
		calm(o)

		set("1", "1s")
		k.rest(ctx, obj)
	})
})
