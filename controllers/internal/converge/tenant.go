package converge

import "sigs.k8s.io/controller-runtime/pkg/reconcile"

// tenant is a namespace that wants workers.
type tenant struct {
	busyWorkers int // workers that its objects have
	lastTurn    int // number of the turn at which it was last served, or came
	waiting     orderedHeap[*turn]
	waitsAmong  *orderedHeap[*tenant] // the tenants that it waits among; nil if it does not wait
	heapIndex   int
}

func (t *tenant) index() *int { return &t.heapIndex }

func newTenant() *tenant { return &tenant{waiting: orderedHeap[*turn]{before: (*turn).before}} }

func (t *tenant) before(other *tenant) bool {
	if t.busyWorkers != other.busyWorkers {
		return t.busyWorkers < other.busyWorkers
	}
	return t.lastTurn < other.lastTurn
}

// hasLowWorkOnly reports whether all objects that wait in it have low priority.
func (t *tenant) hasLowWorkOnly() bool { return t.waiting.first().isLow() }

// turn is an object that waits to be reconciled or has a worker.
type turn struct {
	reconcile.Request
	of        *tenant
	priority  int
	arrival   int // number of the arrival
	heapIndex int
}

func (t *turn) index() *int { return &t.heapIndex }

// isLow reports whether the object has low priority, as controller-runtime gives it to the objects of an initial list.
func (t *turn) isLow() bool { return t.priority < 0 }

func (t *turn) before(other *turn) bool {
	if t.priority != other.priority {
		return t.priority > other.priority
	}
	return t.arrival < other.arrival
}
