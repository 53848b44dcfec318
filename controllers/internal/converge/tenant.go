package converge

import "sigs.k8s.io/controller-runtime/pkg/reconcile"

// lowPriorityTurns is how many turns later a tenant is served if only objects of low priority wait in it. In a leader that
// starts, these are all objects that exist, and they take two turns each if each has a namespace of its own; so the
// figure is for 50,000 namespaces. It is not without end, since an object of low priority keeps that when it is due again,
// and namespaces that never come to rest must not hold it up for ever: at some 700 passes per second they do for 2.5 minutes.
const lowPriorityTurns = 100_000

// tenant is a namespace that wants workers.
type tenant struct {
	busyWorkers int // workers that its objects have
	lastTurn    int // number of the turn at which it was last served, or came
	waiting     orderedHeap[*turn]
	heapIndex   int
}

func (t *tenant) index() *int { return &t.heapIndex }

func newTenant() *tenant { return &tenant{waiting: orderedHeap[*turn]{before: (*turn).before}} }

func (t *tenant) before(other *tenant) bool {
	if t.busyWorkers != other.busyWorkers {
		return t.busyWorkers < other.busyWorkers
	}
	return t.rank() < other.rank()
}

// rank orders the tenants that wait and have equally many workers. It depends on the tenant alone, so that the order of two
// of them stays the same while neither changes.
func (t *tenant) rank() int {
	if t.waiting.first().priority < 0 {
		return t.lastTurn + lowPriorityTurns
	}
	return t.lastTurn
}

// turn is an object that waits to be reconciled or has a worker.
type turn struct {
	reconcile.Request
	of        *tenant
	priority  int
	arrival   int // number of the arrival
	heapIndex int
}

func (t *turn) index() *int { return &t.heapIndex }

func (t *turn) before(other *turn) bool {
	if t.priority != other.priority {
		return t.priority > other.priority
	}
	return t.arrival < other.arrival
}
