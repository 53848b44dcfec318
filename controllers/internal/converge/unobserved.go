package converge

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
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

// leaderlessTime is how long objects are usually without a leader at most: a standby takes the lease within some ten seconds, and then
// lists all objects.
const leaderlessTime = time.Minute

// enqueueUnreadyFirst gives an object one of whose servers may have failed while there was no leader ordinary priority, too: it must not
// wait for all edits of its namespace.
type enqueueUnreadyFirst struct {
	handler.EventHandler
	clock clock.PassiveClock
}

// Create enqueues the object of a pod that is new, or that existed when the watch started.
func (e *enqueueUnreadyFirst) Create(ctx context.Context, seen event.CreateEvent,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if pod, ok := seen.Object.(*corev1.Pod); ok && mayHaveFailed(pod, e.clock.Now()) {
		seen.IsInInitialList = false
	}
	e.EventHandler.Create(ctx, seen, queue)
}

// mayHaveFailed reports whether a pod's server may have failed while there was no leader: the pod runs, and is not ready, or has been
// restarted and is ready again since then. A restarted Redis is ready within seconds, and is no master until an operator has looked at
// it. A pod that is merely new does not count: after a large rollout there are many.
func mayHaveFailed(pod *corev1.Pod, now time.Time) bool {
	since, ready := conditions.ReadySince(pod)
	restarted := slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.RestartCount > 0 })
	return pod.Status.Phase == corev1.PodRunning && (!ready || restarted && now.Sub(since) < leaderlessTime)
}

// withoutEvents makes the builder's own watch of the objects enqueue nothing: enqueueUnobservedFirst does. The builder still needs
// For, which names the controller and the owner of the children.
var withoutEvents = builder.WithPredicates(predicate.NewPredicateFuncs(func(client.Object) bool { return false }))
