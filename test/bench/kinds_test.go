package bench

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/easyservice"
	"github.com/mainstay-operator/mainstay-operator/controllers/memcached"
	"github.com/mainstay-operator/mainstay-operator/test/bench/null"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// object is any object of the operator's kinds.
type object interface {
	client.Object
	GetConditions() *[]metav1.Condition
}

// kind that is measured.
type kind struct {
	// name of the kind, and the name of its controller.
	name, controller string
	// of returns an object with one pod. Where its pods run is added to what scheduling returns.
	of         func(name string) object
	scheduling func(object) *commonv1.Scheduling
	// children are the types that the operator makes, and workload the one that has the pods.
	children []client.Object
	workload client.Object
}

var kinds = []kind{
	{
		name: "EasyService", controller: "easyservice",
		of: func(name string) object {
			return builders.EasyService(name).Size(1).Ports(appv1.Port{Name: "http", Port: 80}).Build()
		},
		scheduling: func(o object) *commonv1.Scheduling { return &o.(*appv1.EasyService).Spec.Scheduling },
		children:   easyservice.Owned, workload: &appsv1.Deployment{},
	},
	{
		name: "Memcached", controller: "memcached",
		of:         func(name string) object { return builders.Memcached(name).Size(1).Build() },
		scheduling: func(o object) *commonv1.Scheduling { return &o.(*cachev1alpha1.Memcached).Spec.Scheduling },
		children:   memcached.Owned, workload: &appsv1.StatefulSet{},
	},
}

// nameOf the nth object. All names are equally long, and that of the 0th is what the null operator learns from.
func nameOf(n int) string { return fmt.Sprintf("bench-%05d", n) }

// resize is the edit of all objects, and shrink that of one object while a manager is replaced.
var resize, shrink = patchSize(2), patchSize(1)

func patchSize(size int) client.Patch {
	return client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"size":%d}}`, size))
}

// nthObject returns the nth object, to be created in a namespace.
func (b *bench) nthObject(k kind, namespace string, n int) object {
	o := k.of(nameOf(n))
	o.SetNamespace(namespace)
	b.node.Place(k.scheduling(o))
	return o
}

// readyGeneration is the generation that an object is Ready in, or 0.
func readyGeneration(o object) int64 {
	ready := meta.FindStatusCondition(*o.GetConditions(), commonv1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != o.GetGeneration() {
		return 0
	}
	return o.GetGeneration()
}

// learnAll has the operator make an object of each kind, and edits it.
func (b *bench) learnAll(ctx context.Context, todo []setting) (map[string]null.Recipe, error) {
	recipes := map[string]null.Recipe{}
	for _, s := range todo {
		if _, learned := recipes[s.kind.name]; learned {
			continue
		}
		recipe, err := b.learn(ctx, s.kind)
		if err != nil {
			return nil, fmt.Errorf("learning what the operator makes of a %s: %w", s.kind.name, err)
		}
		recipes[s.kind.name] = recipe
	}
	return recipes, nil
}

func (b *bench) learn(ctx context.Context, k kind) (recipe null.Recipe, err error) {
	namespace, err := b.newNamespace(ctx)
	if err != nil {
		return recipe, err
	}
	defer func() { err = errors.Join(err, b.deleteNamespace(context.WithoutCancel(ctx), namespace)) }()
	o := b.nthObject(k, namespace, 0)
	if recipe.Kind, err = apiutil.GVKForObject(o, b.k8s.Scheme()); err != nil {
		return recipe, err
	}
	if recipe.Workload, err = apiutil.GVKForObject(k.workload, b.k8s.Scheme()); err != nil {
		return recipe, err
	}
	if err := b.k8s.Create(ctx, o); err != nil {
		return recipe, err
	}
	for generation := int64(1); generation <= 2; generation++ {
		if generation > 1 {
			if err := b.k8s.Patch(ctx, o, resize); err != nil {
				return recipe, err
			}
		}
		if err := poll(ctx, timeout, func(ctx context.Context) error {
			if err := b.k8s.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
				return err
			}
			if got := readyGeneration(o); got != generation {
				return fmt.Errorf("%s is not Ready in generation %d: %+v", o.GetName(), generation, *o.GetConditions())
			}
			return nil
		}); err != nil {
			return recipe, err
		}
		learned, err := null.Learn(ctx, b.k8s, o, k.children)
		if err != nil {
			return recipe, err
		}
		recipe.Generations = append(recipe.Generations, learned)
	}
	return recipe, nil
}
