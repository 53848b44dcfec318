package converge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// missingAPIRecheck is for how long an API that was not there counts as absent.
const missingAPIRecheck = 10 * time.Second

// OptionalAPIs looks for types of children that a cluster may lack, such as routes of Gateway API. It looks for each
// when the manager starts, and again while an object asks for one. A child of such a type bears the name of its owner.
type OptionalAPIs struct {
	// Cache has the objects that the operator made.
	Cache cache.Cache
	// Mapper asks the API server for the types it has.
	Mapper meta.RESTMapper
	// Clock is used to decide when to look again.
	Clock clock.PassiveClock

	mu    sync.Mutex
	known map[schema.GroupVersionKind]*discovery
}

// discovery is what is known of a type.
type discovery struct {
	checkedAt time.Time
	present   bool
	err       error // of a question without an answer
}

// missingAPIError means that the cluster lacks a type. Somebody must install it.
type missingAPIError struct{ text string }

func (m *missingAPIError) Error() string { return m.text }

func isMissingAPI(err error) bool {
	var missing *missingAPIError
	return errors.As(err, &missing)
}

// isPresent reports whether the cluster has the type. With refresh, it looks again once what it knows has grown old. The
// mapper knows no context, and one question may take a minute: so that the passes that wait for the lock meanwhile do not
// each wait for one more, they get the same answer, an error too.
func (o *OptionalAPIs) isPresent(gvk schema.GroupVersionKind, refresh bool) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	d := o.known[gvk]
	if d != nil && (d.present || !refresh && d.err == nil || o.Clock.Since(d.checkedAt) < missingAPIRecheck) {
		return d.present, d.err
	}
	_, err := o.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	d = &discovery{present: err == nil}
	if err != nil && !meta.IsNoMatchError(err) {
		d.err = fmt.Errorf("looking for the type %s: %w", gvk.Kind, err)
	}
	d.checkedAt = o.Clock.Now() // after the question: it may have taken longer than an answer is good for
	if o.known == nil {
		o.known = map[schema.GroupVersionKind]*discovery{}
	}
	o.known[gvk] = d
	return d.present, d.err
}

// ensureWatched returns nil when children of the type can be read. The first time, it starts to watch them.
func (c *Converger) ensureWatched(ctx context.Context, gvk schema.GroupVersionKind, field string) error {
	there, err := c.OptionalAPIs.isPresent(gvk, true)
	switch {
	case err != nil:
		return err
	case !there:
		return &missingAPIError{fmt.Sprintf("%s: the cluster has no %s of %s; install it, or take the field out", field, gvk.Kind,
			gvk.GroupVersion())}
	}
	if err := c.watchers.ensureStarted(gvk); err != nil {
		return fmt.Errorf("watching %s: %w", gvk.Kind, err)
	}
	informer, err := c.OptionalAPIs.Cache.GetInformer(ctx, newUnstructured(gvk), cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watching %s: %w", gvk.Kind, err)
	}
	if !informer.HasSynced() {
		return &pendingError{"the " + gvk.Kind + "s of the cluster are being listed"}
	}
	return nil
}

// newUnstructured returns an empty object of the type.
func newUnstructured(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	empty := &unstructured.Unstructured{}
	empty.SetGroupVersionKind(gvk)
	return empty
}

// undesiredOptional returns the undesired children of types that a cluster may lack. It finds none where the type was
// absent when it was last looked for.
func (c *Converger) undesiredOptional(ctx context.Context, owner Object, desired map[string]bool) (Observed, error) {
	found := Observed{}
	var errs []error
	for _, gvk := range c.OptionalTypes {
		key := childKey(gvk.Kind, owner.GetName())
		if there, err := c.OptionalAPIs.isPresent(gvk, false); !there || desired[key] {
			errs = append(errs, err)
			continue
		}
		switch err := c.ensureWatched(ctx, gvk, gvk.Kind); {
		case isPending(err): // should there be one, its event brings us back
			continue
		case err != nil:
			errs = append(errs, err)
			continue
		}
		child := newUnstructured(gvk)
		err := c.OptionalAPIs.Cache.Get(ctx, client.ObjectKeyFromObject(owner), child)
		if err == nil && metav1.IsControlledBy(child, owner) && child.GetDeletionTimestamp().IsZero() {
			found[key] = child
		}
		if client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("looking for %s: %w", key, err))
		}
	}
	return found, errors.Join(errs...)
}

// watchers starts the watch of each type of children once.
type watchers struct {
	mu      sync.Mutex
	started map[schema.GroupVersionKind]bool
	start   func(schema.GroupVersionKind) error
}

func (w *watchers) ensureStarted(gvk schema.GroupVersionKind) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.started[gvk] {
		return nil
	}
	if err := w.start(gvk); err != nil {
		return err
	}
	if w.started == nil {
		w.started = map[schema.GroupVersionKind]bool{}
	}
	w.started[gvk] = true
	return nil
}

// setUpOptionalTypes finds out which of the types the cluster has, and lets each be watched as soon as a pass needs
// it.
func (c *Converger) setUpOptionalTypes(mgr ctrl.Manager, object client.Object, started controller.Controller) error {
	c.watchers.start = func(gvk schema.GroupVersionKind) error {
		owners := handler.TypedEnqueueRequestForOwner[*unstructured.Unstructured](mgr.GetScheme(), mgr.GetRESTMapper(), object,
			handler.OnlyControllerOwner())
		return started.Watch(source.Kind(c.OptionalAPIs.Cache, newUnstructured(gvk), owners))
	}
	for _, gvk := range c.OptionalTypes {
		there, err := c.OptionalAPIs.isPresent(gvk, true)
		if err == nil && there {
			// An informer that is requested now is full before this process leads.
			_, err = c.OptionalAPIs.Cache.GetInformer(context.Background(), newUnstructured(gvk), cache.BlockUntilSynced(false))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
