package converge

import (
	"context"
	"fmt"
	"reflect"

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

// Object is what a kind's API type offers to Reconcile.
type Object interface {
	client.Object
	// GetConditions returns where the conditions live.
	GetConditions() *[]metav1.Condition
	// GetObservedGeneration returns the generation that the status describes; -1 or 0 before the first pass.
	GetObservedGeneration() int64
	// SetObservedGeneration notes the generation that the status speaks of.
	SetObservedGeneration(generation int64)
	// GetUnreadable returns the fields that could not be read, and why; mostly "".
	GetUnreadable() string
}

// SaveStatus writes the object's status now, under an optimistic lock, and leaves the server's answer in the object.
// It sends nothing when nothing changed but conditions: they are written at the end of the pass, since a later step that fails changes
// them again.
type SaveStatus func(ctx context.Context) error

// ReconcileFunc is one pass over one object. It sets the object's status in place.
type ReconcileFunc[T Object] func(ctx context.Context, obj T, save SaveStatus) (ctrl.Result, error)

// Converger is what every kind's reconciler is built on.
type Converger struct {
	// Client reads from the cache and writes to the API server.
	client.Client
	// APIReader reads from the API server what somebody else might just have made.
	APIReader client.Reader
	// IsLeader reports false once another process may lead; nil when there is no other. Client then writes
	// nothing. Code that commands something else must ask first.
	IsLeader func() bool
	// Identity names this process in what it writes. It is another after each start.
	Identity string
	// Events records what has happened.
	Events events.EventRecorder
	// Account is the ServiceAccount that this process runs as; empty if it does not run in a pod.
	Account types.NamespacedName
	// Tracker notes the passes while they run; nil where nothing asks for them.
	Tracker *ReconcileTracker
	// Stuck has the objects because of which earlier processes were restarted; nil if they are not noted.
	Stuck *StuckRegister
	// Owned are the types of children; Converge prunes children of these types that are no longer desired.
	Owned []client.Object
	// OptionalTypes are the types of children that a cluster may lack; OptionalAPIs looks for them.
	OptionalTypes []schema.GroupVersionKind
	OptionalAPIs  *OptionalAPIs
	// Finalize, when set, releases what garbage collection cannot: it runs whenever a pass finds the object gone
	// or being deleted.
	Finalize func(ctx context.Context, key types.NamespacedName) error

	lastWrites    lastWrites
	confirmations Memory[confirmation]
	secrets       ownSecrets
	refusals      Memory[podRefusal]
	watchers      watchers
}

// Reconcile runs one pass; see the package's contract.
func Reconcile[T Object](ctx context.Context, c *Converger, req ctrl.Request, obj T, reconcile ReconcileFunc[T]) (ctrl.Result, error) {
	kind := kindOf(obj)
	pass := c.Tracker.Start(ctx, kind, req.NamespacedName)
	defer pass.End()
	err := c.Get(ctx, req.NamespacedName, obj)
	switch {
	case apierrors.IsNotFound(err):
		c.forget(req.NamespacedName)
		return c.runFinalize(ctx, req.NamespacedName)
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("reading the object: %w", err)
	case !obj.GetDeletionTimestamp().IsZero():
		return c.runFinalize(ctx, req.NamespacedName)
	case c.lastWrites.isStale(req.NamespacedName, ownerItself, obj):
		return c.reconcileStale(ctx, req.NamespacedName, obj)
	}
	c.lastWrites.noteSeen(req.NamespacedName, ownerItself)
	c.confirmations.Forget(req.NamespacedName) // an earlier answer may be outdated
	pass.setObject(obj)

	base := obj.DeepCopyObject().(T)
	before := *base.GetConditions()
	save := func(ctx context.Context) error {
		conditions.Finish(obj.GetConditions(), *base.GetConditions())
		if apiequality.Semantic.DeepEqual(base, obj) {
			return nil
		}
		patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
		if err := c.Status().Patch(ctx, obj, patch, client.FieldOwner(FieldManager)); err != nil {
			return fmt.Errorf("saving the status: %w", err)
		}
		c.lastWrites.noteWrite(req.NamespacedName, ownerItself, lastWrite{version: obj.GetResourceVersion()})
		c.noteSaved(obj)
		c.emitEvents(obj, *base.GetConditions())
		base = obj.DeepCopyObject().(T)
		return nil
	}

	saveWithin := func(ctx context.Context) error {
		if isEqualButConditions(base, obj) {
			return nil
		}
		return save(ctx)
	}

	held, err := c.Stuck.checkHeld(kind, obj)
	result := ctrl.Result{RequeueAfter: held}
	if err == nil {
		result, err = runIfReadable(ctx, obj, saveWithin, reconcile)
	}
	obj.SetObservedGeneration(obj.GetGeneration())
	conditions.SetFailedPass(obj.GetConditions(), before, obj.GetGeneration(), toProblem(err))
	if saveErr := save(ctx); saveErr != nil && err == nil {
		err = saveErr
	}
	return toResult(result, err)
}

// isEqualButConditions reports whether two copies of an object differ in nothing but conditions.
func isEqualButConditions(base, obj Object) bool {
	same := obj.DeepCopyObject().(Object)
	*same.GetConditions() = *base.GetConditions()
	return apiequality.Semantic.DeepEqual(base, same)
}

// kindOf returns the kind of an object of ours: its type has that name.
func kindOf(obj Object) string { return reflect.TypeOf(obj).Elem().Name() }

// runIfReadable runs the reconcile function, unless a part of the object could not be read: then it does nothing.
func runIfReadable[T Object](ctx context.Context, obj T, save SaveStatus, reconcile ReconcileFunc[T]) (ctrl.Result, error) {
	if why := obj.GetUnreadable(); why != "" {
		return ctrl.Result{}, &invalidError{why + "; nothing is done until it can be read"}
	}
	return reconcile(ctx, obj, save)
}

// reconcileStale handles an object older than our last write of it: usually, the event of that write brings the next
// pass. If the cache has had that write already, it asks the API server. If the API server has an older object, too,
// that was restored from a backup, and the next pass acts on it.
func (c *Converger) reconcileStale(ctx context.Context, key types.NamespacedName, obj Object) (ctrl.Result, error) {
	if !c.lastWrites.get(key, ownerItself).seen {
		return ctrl.Result{}, nil
	}
	gvk, err := apiutil.GVKForObject(obj, c.Scheme())
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("object %q has no kind: %w", obj.GetName(), err)
	}
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(gvk)
	if err := c.APIReader.Get(ctx, key, found); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !c.lastWrites.isStale(key, ownerItself, found) {
		return ctrl.Result{}, nil
	}
	c.forget(key)
	return ctrl.Result{RequeueAfter: conflictRequeue}, nil
}

// forget drops what is known of an object's last writes.
func (c *Converger) forget(key types.NamespacedName) {
	c.lastWrites.forget(key)
	c.confirmations.Forget(key)
	c.secrets.objects.Forget(key)
	c.refusals.Forget(key)
}

func (c *Converger) runFinalize(ctx context.Context, key types.NamespacedName) (ctrl.Result, error) {
	if c.Finalize == nil {
		return ctrl.Result{}, nil
	}
	return toResult(ctrl.Result{}, c.Finalize(ctx, key))
}

// maxEventNote bounds the note of an event: the API server drops a longer one.
const maxEventNote = 1024

// emitEvents emits one event per condition that turned since before.
func (c *Converger) emitEvents(obj Object, before []metav1.Condition) {
	for _, turned := range conditions.Transitions(before, *obj.GetConditions()) {
		kind := "Normal"
		if conditions.IsWarning(turned) {
			kind = "Warning"
		}
		note := fmt.Sprintf("%s is %s: %s", turned.Type, turned.Status, turned.Message)
		c.Events.Eventf(obj, nil, kind, turned.Reason, turned.Type, "%s", conditions.Truncate(note, maxEventNote))
	}
}
