package integration

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

// kind is a row of every table that all kinds must pass. A kind's own file
// registers it: var _ = register(kind{…}).
type kind struct {
	name string
	// sample makes an object that sets many optional fields.
	sample func() client.Object
	// edit turns the sample into another valid one that sets fewer of them.
	// Nil for a kind whose spec is immutable: no differential is run.
	edit func(client.Object)
	// done is nil when the object has come to rest; nil for "Ready is True".
	done func(ctx context.Context, obj client.Object) error
	// level of Pod Security that the sample's pods must meet; "" for restricted.
	level string
	// scaled is true when the kind has a scale subresource, from smallest on.
	scaled   bool
	smallest int32
	// kept are fields of children in which an edit by others is kept, as "Kind/name [path]".
	kept []string
	// prerequisite is what a user makes before the object; nil for nothing.
	prerequisite func(namespace string) client.Object
	// asks is the identity of the one call by which each process reads it.
	asks string
	// maxStatusWrites is how often the operator may write the status of a new object until it is at rest. How often it does varies,
	// since one write covers all changes of children that were seen by then: in 100 runs on two busy cores it was two less at most.
	maxStatusWrites int
	// paused sets spec.paused; nil when the kind has none.
	paused func(client.Object, bool)
	// sampleFile is the file of config/samples, whose objects must converge too.
	sampleFile string
}

var kinds []kind

func register(k kind) bool { //nolint:unparam // a result is what lets var _ = call it
	if k.done == nil {
		k.done = func(ctx context.Context, obj client.Object) error {
			return checkCondition(ctx, obj, commonv1.ConditionReady, metav1.ConditionTrue)
		}
	}
	if k.level == "" {
		k.level = "restricted"
	}
	kinds = append(kinds, k)
	return true
}

// forEachKind writes one spec per kind.
func forEachKind(text string, spec func(ctx SpecContext, k kind)) {
	for _, k := range kinds {
		It(k.name+" "+text, func(ctx SpecContext) { spec(ctx, k) })
	}
}

// newNamespace makes a namespace that admits the kind's pods.
func (k kind) newNamespace(ctx context.Context) string {
	GinkgoHelper()
	namespace, err := k.makeNamespace(ctx)
	Expect(err).NotTo(HaveOccurred())
	return namespace
}

func (k kind) makeNamespace(ctx context.Context) (string, error) {
	namespace, err := makeNamespace(ctx, k.level)
	if err == nil && k.prerequisite != nil {
		err = admin.Create(ctx, k.prerequisite(namespace))
	}
	return namespace, err
}

// work is what a process of this kind does beyond what it must ask once.
func (k kind) work(c fault.Call) bool { return work(c) && c.ID() != k.asks }

// create sends the sample, changed, and waits until it has come to rest.
func (k kind) create(ctx context.Context, namespace string, change ...func(client.Object)) client.Object {
	GinkgoHelper()
	obj := k.sample()
	obj.SetNamespace(namespace)
	for _, c := range change {
		c(obj)
	}
	Expect(admin.Create(ctx, obj)).To(Succeed())
	k.rest(ctx, obj)
	return obj
}

// rest waits until the object has come to rest.
func (k kind) rest(ctx context.Context, obj client.Object) {
	GinkgoHelper()
	Eventually(k.done).WithArguments(ctx, obj).Should(Succeed())
}

// update changes the spec of an object as a user who edits would.
func update(ctx context.Context, obj client.Object, change func(client.Object)) {
	GinkgoHelper()
	Eventually(func() error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		change(obj)
		return admin.Update(ctx, obj)
	}).Should(Succeed())
}

// reject expects the API server to refuse the object, naming the field.
func reject(obj client.Object, field string) {
	GinkgoHelper()
	err := dryRun(obj)
	Expect(err).To(HaveOccurred(), "%s was accepted", field)
	Expect(err.Error()).To(ContainSubstring(field))
}

// accept expects the API server to take the object.
func accept(obj client.Object) {
	GinkgoHelper()
	Expect(dryRun(obj)).To(Succeed())
}

// rejectUpdate expects the API server to refuse a change, naming the field.
func rejectUpdate(obj client.Object, change func(client.Object), field string) {
	GinkgoHelper()
	existing := created(obj)
	change(existing)
	err := admin.Update(context.Background(), existing, client.DryRunAll)
	Expect(err).To(HaveOccurred(), "a change of %s was accepted", field)
	Expect(err.Error()).To(ContainSubstring(field))
}

// acceptUpdate expects the API server to take a change.
func acceptUpdate(obj client.Object, change func(client.Object)) {
	GinkgoHelper()
	existing := created(obj)
	change(existing)
	Expect(admin.Update(context.Background(), existing, client.DryRunAll)).To(Succeed())
}

// created makes the object in a namespace where no operator looks.
func created(obj client.Object) client.Object {
	GinkgoHelper()
	obj.SetNamespace(newNamespace(context.Background()))
	Expect(admin.Create(context.Background(), obj)).To(Succeed())
	return obj
}

func dryRun(obj client.Object) error {
	if obj.GetNamespace() == "" {
		obj.SetNamespace(metav1.NamespaceDefault)
	}
	return admin.Create(context.Background(), obj.DeepCopyObject().(client.Object), client.DryRunAll)
}
