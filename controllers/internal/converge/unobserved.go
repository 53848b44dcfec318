package converge

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// isUnobserved reports whether no pass has ended since the object was created, or since its spec was last edited: then its
// status speaks of an earlier generation, or of none. That generation is written when a pass ends. What a kind saves earlier,
// such as an intent, leaves it as it is, although the conditions may be of the new generation by then.
//
// An object that is being deleted is unobserved, too: its deletion raises the generation, and no pass writes its status
// any more.
//
// Some of what users do is not seen here, and has its usual place: an edit of an annotation, such as the request for a
// switchover, and of a Secret or ConfigMap, since neither raises the generation; and an edit over which a pass has failed,
// since that pass has reported it.
func isUnobserved(object Object) bool { return object.GetObservedGeneration() < object.GetGeneration() }

// enqueueUnobservedFirst enqueues an object at each of its events, as handler.EnqueueRequestForObject does, which gives
// all that exists when a leader starts the same low priority. An object that was created or edited while there was no
// leader is among them, and its user waits for it. So it gets the priority of an event.
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

// withoutEvents is for a watch of a builder whose place another watch takes.
var withoutEvents = builder.WithPredicates(predicate.NewPredicateFuncs(func(client.Object) bool { return false }))
