package converge

import (
	"context"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

// Object is what a kind's API type offers to the envelope.
type Object interface {
	client.Object
	// GetConditions gives the place where the conditions live.
	GetConditions() *[]metav1.Condition
	// SetObservedGeneration notes the generation that the status speaks of.
	SetObservedGeneration(generation int64)
	// GetUnreadable gives the fields that could not be read, and why; mostly none.
	GetUnreadable() string
}

// Save writes the object's status now, under optimistic lock, and leaves the
// server's answer in the object. It sends nothing when nothing changed.
type Save func(ctx context.Context) error

// Story is one pass over one object. It sets the object's status in place.
type Story[T Object] func(ctx context.Context, obj T, save Save) (ctrl.Result, error)

// Converger is what every kind's reconciler is built on.
type Converger struct {
	// Client reads from the cache and writes to the API server.
	client.Client
	// Live reads from the API server: what another might just have made.
	Live client.Reader
	// Leads is false once another process may lead; nil when there is no other. Client
	// writes nothing then. Whoever commands something else asks first.
	Leads func() bool
	// Events records what has happened.
	Events events.EventRecorder
	// Account is the ServiceAccount that this process runs as; none where it is no pod.
	Account types.NamespacedName
	// Passes are noted while they run; nil where nobody asks for them.
	Passes *Passes
	// Owned are the types of children; those no longer desired are pruned.
	Owned []client.Object
	// Extended are the types of children that a cluster may lack, of Extensions.
	Extended   []schema.GroupVersionKind
	Extensions *Extensions
	// Release, when set, lets go of what garbage collection cannot: it runs for
	// an object that is gone or being deleted, as often as it is seen so.
	Release func(ctx context.Context, key types.NamespacedName) error

	memory   memory
	watchers watchers
}

// Reconcile runs one pass; see the package's contract.
func Reconcile[T Object](ctx context.Context, c *Converger, req ctrl.Request, obj T, story Story[T]) (ctrl.Result, error) {
	defer c.Passes.Begin(fmt.Sprintf("%T %s", obj, req))()
	err := c.Get(ctx, req.NamespacedName, obj)
	switch {
	case apierrors.IsNotFound(err):
		c.memory.forget(req.NamespacedName)
		return c.released(ctx, req.NamespacedName)
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("reading the object: %w", err)
	case !obj.GetDeletionTimestamp().IsZero():
		return c.released(ctx, req.NamespacedName)
	case c.memory.newer(req.NamespacedName, self, obj):
		return c.outdated(ctx, req.NamespacedName, obj)
	}
	c.memory.show(req.NamespacedName, self)

	base := obj.DeepCopyObject().(T)
	before := *base.GetConditions()
	save := func(ctx context.Context) error {
		conditions.Tell(*obj.GetConditions())
		conditions.Steady(*obj.GetConditions(), *base.GetConditions())
		if apiequality.Semantic.DeepEqual(base, obj) {
			return nil
		}
		patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
		if err := c.Status().Patch(ctx, obj, patch, client.FieldOwner(FieldManager)); err != nil {
			return fmt.Errorf("saving the status: %w", err)
		}
		c.memory.note(req.NamespacedName, self, mark{version: obj.GetResourceVersion()})
		c.announce(obj, *base.GetConditions())
		base = obj.DeepCopyObject().(T)
		return nil
	}

	result, err := told(ctx, obj, save, story)
	obj.SetObservedGeneration(obj.GetGeneration())
	conditions.Fold(obj.GetConditions(), before, obj.GetGeneration(), problem(err))
	if saveErr := save(ctx); saveErr != nil && err == nil {
		err = saveErr
	}
	return fate(result, err)
}

// told runs the story, unless the object could not be read whole: then nothing is done.
func told[T Object](ctx context.Context, obj T, save Save, story Story[T]) (ctrl.Result, error) {
	if why := obj.GetUnreadable(); why != "" {
		return ctrl.Result{}, &mistake{why + "; nothing is done until it can be read"}
	}
	return story(ctx, obj, save)
}

// outdated is a pass over an object older than our last write of it: the event of that write
// brings the next. Where the cache has had it already, the API server is asked. One that has
// an older object, too, was restored from a backup: then that is the one to act on.
func (c *Converger) outdated(ctx context.Context, key types.NamespacedName, obj Object) (ctrl.Result, error) {
	if !c.memory.of(key, self).shown {
		return ctrl.Result{}, nil
	}
	gvk, err := apiutil.GVKForObject(obj, c.Scheme())
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("object %q has no kind: %w", obj.GetName(), err)
	}
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(gvk)
	if err := c.Live.Get(ctx, key, found); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !c.memory.newer(key, self, found) {
		return ctrl.Result{}, nil
	}
	c.memory.forget(key)
	return ctrl.Result{RequeueAfter: again}, nil
}

func (c *Converger) released(ctx context.Context, key types.NamespacedName) (ctrl.Result, error) {
	if c.Release == nil {
		return ctrl.Result{}, nil
	}
	return fate(ctrl.Result{}, c.Release(ctx, key))
}

// longestNote of an event: the API server drops a longer one.
const longestNote = 1024

// announce emits one event per condition that turned since before.
func (c *Converger) announce(obj Object, before []metav1.Condition) {
	for _, turned := range conditions.Turned(before, *obj.GetConditions()) {
		kind := "Normal"
		if conditions.Bad(turned) {
			kind = "Warning"
		}
		note := fmt.Sprintf("%s is %s: %s", turned.Type, turned.Status, turned.Message)
		c.Events.Eventf(obj, nil, kind, turned.Reason, turned.Type, "%s", conditions.Cut(note, longestNote))
	}
}
