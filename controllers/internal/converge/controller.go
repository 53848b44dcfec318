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
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

const (
	// firstRetry and lastRetry bound the back-off of a failing object. The upper
	// bound is how long a cause that sends no event, such as a freed node port,
	// may stay unnoticed after it is gone.
	firstRetry = 50 * time.Millisecond
	lastRetry  = 30 * time.Second

	// workers of a kind that waits for nobody but the API server. One namespace has up to four
	// of them, see fairQueue.
	workers = 8

	// askingWorkers of a kind whose passes wait for its servers, which may be anybody's. So many
	// sets can hang at once, in as many namespaces, before another waits for any, and then on
	// average for a 32nd of the 0.2 s that a pass over one that hangs takes. More would not be
	// better: each that does not wait takes its part of the processor, and 32 passes of some
	// 5 ms on a core of their own end within a third of the shortest time-out of a server, 500 ms.
	// One that waits costs some 20 KiB, and 8 KiB for each server: 3 MiB for 32 sets of nine.
	askingWorkers = 32
)

// Options are those of a kind's controller.
func Options() controller.Options { return options(workers) }

// OptionsToAsk are those of a kind whose passes wait for servers.
func OptionsToAsk() controller.Options { return options(askingWorkers) }

func options(workers int) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: workers,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
		NewQueue:                newFairQueue(workers),
	}
}

// Manage starts the kind's controller: it watches the objects, the children that
// the Converger owns, the pods of the kind, and what else wakes an object up.
func (c *Converger) Manage(mgr ctrl.Manager, object Object, kind string, o controller.Options, r reconcile.Reconciler, more ...source.Source) error {
	b := ctrl.NewControllerManagedBy(mgr).For(object).Watches(&corev1.Pod{}, ByInstance(kind))
	for _, child := range c.Owned {
		b.Owns(child)
	}
	for _, s := range more {
		b.WatchesRawSource(s)
	}
	started, err := b.WithOptions(o).Build(r)
	if err != nil {
		return err
	}
	return c.extend(mgr, object, started)
}

// Pods are the pods of one object, from the cache, in order of their names.
func (c *Converger) Pods(ctx context.Context, owner Object, kind string) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := c.List(ctx, &list, client.InNamespace(owner.GetNamespace()), client.MatchingLabels(parts.Selector(kind, owner.GetName())))
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	sortByName(list.Items)
	return list.Items, nil
}

func sortByName(pods []corev1.Pod) {
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
}

// ByInstance maps a pod of the kind to the object that it belongs to.
func ByInstance(kind string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, pod client.Object) []reconcile.Request {
		labels := pod.GetLabels()
		if labels[parts.LabelManagedBy] != parts.ManagedBy || labels[parts.LabelName] != kind {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{
			Namespace: pod.GetNamespace(), Name: labels[parts.LabelInstance],
		}}}
	})
}
