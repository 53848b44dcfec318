package converge

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// objectRate is how many passes per second an object may have; objectBurst is how many it may have at once
	// before that counts. A failover takes some ten passes and a set that syncs one each 100 ms, so only an object
	// whose servers or events never come to rest is held back, each time by 100 ms at most.
	objectRate  = 10
	objectBurst = 50

	// sweepTurns is after how many turns the queue forgets the objects that have come to rest.
	sweepTurns = 1024
)

// fairQueue divides a controller's workers between the namespaces. It holds what the queue below has found ready, and
// gives it to the workers by two rules:
//
//   - A namespace has fewer workers than are free: dynamic thresholds, as switches divide a buffer between their
//     ports, https://doi.org/10.1109/90.664262. One that wants all has half of them; k that do have 1/(k+1) each;
//     and as much is always left for the others.
//   - Of the namespaces that wait, the one with the fewest workers is next, and among equals the one that was
//     served, or came, longest ago.
//
// No object is served faster than objectRate, so that one that never comes to rest does not use up the processor and
// the API server instead of the workers.
//
// To the metrics of the queue below, an object that waits here is being worked on.
type fairQueue struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	clock clock.PassiveClock

	mu          sync.Mutex
	changed     *sync.Cond
	freeWorkers int                             // workers that no object has
	tenants     map[string]*tenant              // by namespace: with workers, or waiting for some
	turnsTaken  int                             // taken so far
	nextAllowed map[reconcile.Request]time.Time // when objectRate will have allowed all passes so far
	shutdown    bool
}

// tenant is a namespace that wants workers.
type tenant struct {
	busyWorkers int // workers that its objects have
	lastTurn    int // number of the turn at which it was last served, or came
	waiting     []turn
}

// turn is an object that waits to be reconciled, with its priority.
type turn struct {
	reconcile.Request
	priority int
}

// newFairQueue returns what makes the queue of a controller with that many workers.
func newFairQueue(workers int) func(string, workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		below := priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter })
		q := newFairQueueOver(below, workers, clock.RealClock{})
		go q.moveReady()
		return q
	}
}

func newFairQueueOver(below priorityqueue.PriorityQueue[reconcile.Request], workers int, clock clock.PassiveClock) *fairQueue {
	q := &fairQueue{PriorityQueue: below, clock: clock, freeWorkers: workers, tenants: map[string]*tenant{}, nextAllowed: map[reconcile.Request]time.Time{}}
	q.changed = sync.NewCond(&q.mu)
	return q
}

// moveReady moves what is ready from the queue below, until that is shut down.
func (q *fairQueue) moveReady() {
	for {
		object, priority, shutdown := q.PriorityQueue.GetWithPriority()
		switch early := q.throttleDelay(object); {
		case shutdown:
			q.wakeForShutdown()
			return
		case early > 0:
			q.AddWithOpts(priorityqueue.AddOpts{After: early, Priority: &priority}, object)
			q.PriorityQueue.Done(object)
		default:
			q.enqueue(turn{object, priority})
		}
	}
}

// throttleDelay returns for how long objectRate allows the object no other pass.
func (q *fairQueue) throttleDelay(object reconcile.Request) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.nextAllowed[object].Add(-objectBurst * time.Second / objectRate).Sub(q.clock.Now())
}

func (q *fairQueue) enqueue(t turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	of := q.tenants[t.Namespace]
	if of == nil {
		q.turnsTaken++
		of = &tenant{lastTurn: q.turnsTaken}
		q.tenants[t.Namespace] = of
	}
	after := slices.IndexFunc(of.waiting, func(other turn) bool { return other.priority < t.priority })
	if after < 0 {
		after = len(of.waiting)
	}
	of.waiting = slices.Insert(of.waiting, after, t)
	q.changed.Signal()
}

// GetWithPriority waits for an object that may have a worker.
func (q *fairQueue) GetWithPriority() (reconcile.Request, int, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.shutdown {
		if of := q.nextTenant(); of != nil {
			t := of.waiting[0]
			of.waiting = slices.Delete(of.waiting, 0, 1)
			q.assignWorker(t, of)
			if q.nextTenant() != nil { // another worker can be spent, too
				q.changed.Signal()
			}
			return t.Request, t.priority, false
		}
		q.changed.Wait()
	}
	return reconcile.Request{}, 0, true
}

// Get is GetWithPriority for a caller that has no use for the priority.
func (q *fairQueue) Get() (reconcile.Request, bool) {
	object, _, shutdown := q.GetWithPriority()
	return object, shutdown
}

// nextTenant returns the tenant to be given a worker, nil for none.
func (q *fairQueue) nextTenant() *tenant {
	var next *tenant
	for _, t := range q.tenants {
		if len(t.waiting) > 0 && t.busyWorkers < q.freeWorkers && (next == nil || t.before(next)) {
			next = t
		}
	}
	return next
}

func (t *tenant) before(other *tenant) bool {
	if t.busyWorkers != other.busyWorkers {
		return t.busyWorkers < other.busyWorkers
	}
	return t.lastTurn < other.lastTurn
}

func (q *fairQueue) assignWorker(t turn, of *tenant) {
	now := q.clock.Now()
	q.freeWorkers--
	of.busyWorkers++
	q.turnsTaken++
	of.lastTurn = q.turnsTaken
	if due := q.nextAllowed[t.Request]; due.After(now) {
		q.nextAllowed[t.Request] = due.Add(time.Second / objectRate)
	} else {
		q.nextAllowed[t.Request] = now.Add(time.Second / objectRate)
	}
	if q.turnsTaken%sweepTurns == 0 {
		maps.DeleteFunc(q.nextAllowed, func(_ reconcile.Request, due time.Time) bool { return due.Before(now) })
	}
}

// Done gives the object's worker back.
func (q *fairQueue) Done(object reconcile.Request) {
	q.PriorityQueue.Done(object)
	q.mu.Lock()
	defer q.mu.Unlock()
	of := q.tenants[object.Namespace]
	q.freeWorkers++
	of.busyWorkers--
	if of.busyWorkers == 0 && len(of.waiting) == 0 {
		delete(q.tenants, object.Namespace)
	}
	q.changed.Signal()
}

// Len returns how many objects wait for a worker.
func (q *fairQueue) Len() int {
	waiting := q.PriorityQueue.Len()
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, t := range q.tenants {
		waiting += len(t.waiting)
	}
	return waiting
}

func (q *fairQueue) wakeForShutdown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shutdown = true
	q.changed.Broadcast()
}
