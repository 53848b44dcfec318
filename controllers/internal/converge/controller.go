package converge

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

const (
	// minBackoff and maxBackoff bound the back-off of a failing object. The upper bound is how long a cause that
	// sends no event, such as a freed node port, may stay unnoticed after it is gone.
	minBackoff = 50 * time.Millisecond
	maxBackoff = 30 * time.Second

	// defaultWorkers is for a kind that waits only for the API server. One namespace has up to four of them,
	// see fairQueue.
	defaultWorkers = 8

	// probingWorkers is for a kind whose passes wait for its servers, which may be anybody's. So many sets can
	// hang at once, in as many namespaces, before another has to wait, and then it waits on average for a 32nd of
	// the 0.2 s that a pass over a hanging one takes. More would not be better: each worker that does not wait
	// takes its part of the processor, and 32 passes of some 5 ms on a core of their own end within a third of the
	// shortest time-out of a server, 500 ms. A worker that waits costs some 20 KiB, and 8 KiB for each server: 3
	// MiB for 32 sets of nine.
	probingWorkers = 32
)

// Options returns the options of a controller that is no kind's.
func Options() controller.Options { return options(defaultWorkers, stuckOfKind{}) }

// Options returns the options of the controller of the object's kind.
func (c *Converger) Options(object Object) controller.Options {
	return options(defaultWorkers, stuckOfKind{c.Stuck, kindOf(object)})
}

// ProbingOptions returns those of a kind whose passes wait for servers.
func (c *Converger) ProbingOptions(object Object) controller.Options {
	return options(probingWorkers, stuckOfKind{c.Stuck, kindOf(object)})
}

func options(workers int, stuck stuckOfKind) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: workers,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minBackoff, maxBackoff),
		NewQueue:                newFairQueue(workers, stuck),
		ReconciliationTimeout:   passTimeout,
	}
}

// SetUpController starts the kind's controller: it watches the objects, the children that the Converger owns, the pods
// of the kind, and the further sources. Every kind is set up by it: see isUnobserved.
func (c *Converger) SetUpController(mgr ctrl.Manager, object Object, kind string, o controller.Options, r reconcile.Reconciler,
	more ...source.Source) error {
	b := ctrl.NewControllerManagedBy(mgr).
		For(object, withoutEvents).
		Watches(object, &enqueueUnobservedFirst{}).
		Watches(&corev1.Pod{}, EnqueueForInstance(kind))
	for _, child := range c.Owned {
		b.Owns(AsCached(child))
	}
	for _, s := range more {
		b.WatchesRawSource(s)
	}
	started, err := b.WithOptions(o).Build(r)
	if err != nil {
		return err
	}
	return c.setUpOptionalTypes(mgr, object, started)
}

// ListPods returns the pods of one object, from the cache, sorted by name.
func (c *Converger) ListPods(ctx context.Context, owner Object, kind string) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := c.List(ctx, &list, client.InNamespace(owner.GetNamespace()), client.MatchingLabels(parts.SelectorLabels(kind, owner.GetName())))
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	sortByName(list.Items)
	return list.Items, nil
}

func sortByName(pods []corev1.Pod) {
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
}

// EnqueueForInstance maps a pod of the kind to the object that it belongs to.
func EnqueueForInstance(kind string) handler.EventHandler {
	mapped := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, pod client.Object) []reconcile.Request {
		labels := pod.GetLabels()
		if labels[parts.LabelManagedBy] != parts.ManagedBy || labels[parts.LabelName] != kind {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{
			Namespace: pod.GetNamespace(), Name: labels[parts.LabelInstance],
		}}}
	})
	return &enqueueUnreadyFirst{mapped, clock.RealClock{}}
}
