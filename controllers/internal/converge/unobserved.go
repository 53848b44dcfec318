package converge

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

// isUnobserved reports whether the object was created, or its spec edited, since a pass last wrote status.observedGeneration.
// The generation of the conditions is not used: a pass also saves them before it ends, with the intent of an act.
//
// An object that is being deleted is unobserved, since its deletion raises the generation.
//
// Three changes do not count, and keep the low priority of the initial list: an edit of an annotation, such as the request for
// a switchover; an edit of a Secret or ConfigMap, since neither raises the generation; and an edit for which a pass has failed,
// since that pass has reported it.
func isUnobserved(object Object) bool { return object.GetObservedGeneration() < object.GetGeneration() }

// enqueueUnobservedFirst enqueues an object at each of its events, as handler.EnqueueRequestForObject does. That handler gives
// low priority to everything in the initial list of a watch. An unobserved object gets ordinary priority, since its user waits
// for it.
type enqueueUnobservedFirst struct {
	handler.EnqueueRequestForObject
}

// Create enqueues an object that is new, or that existed when the watch started.
func (e *enqueueUnobservedFirst) Create(ctx context.Context, seen event.CreateEvent,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if object, ok := seen.Object.(Object); ok && isUnobserved(object) {
		seen.IsInInitialList = false
	}
	e.EnqueueRequestForObject.Create(ctx, seen, queue)
}

// enqueueUnreadyFirst gives an object whose pod runs and is not ready ordinary priority, too: its servers may have failed while
// there was no leader, and must not wait for all edits of their namespace.
type enqueueUnreadyFirst struct {
	handler.EventHandler
}

// Create enqueues the object of a pod that is new, or that existed when the watch started.
func (e *enqueueUnreadyFirst) Create(ctx context.Context, seen event.CreateEvent,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if pod, ok := seen.Object.(*corev1.Pod); ok && pod.Status.Phase == corev1.PodRunning && !conditions.IsPodReady(pod) {
		seen.IsInInitialList = false
	}
	e.EventHandler.Create(ctx, seen, queue)
}

// withoutEvents makes the builder's own watch of the objects enqueue nothing: enqueueUnobservedFirst does. The builder still needs
// For, which names the controller and the owner of the children.
var withoutEvents = builder.WithPredicates(predicate.NewPredicateFuncs(func(client.Object) bool { return false }))
