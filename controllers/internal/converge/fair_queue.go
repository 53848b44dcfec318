package converge

import (
	"maps"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
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
// gives it to the workers by three rules:
//
//   - A namespace has fewer workers than are free: dynamic thresholds, as switches divide a buffer between their
//     ports, https://doi.org/10.1109/90.664262. One that wants all has half of them; k that do have 1/(k+1) each;
//     and as much is always left for the others.
//   - Of the namespaces that wait, the one with the fewest workers is next, and among equals the one that was
//     served, or came, longest ago.
//   - The objects that the StuckRegister names are last: one at a time gets a worker, when no other object can have it.
//
// No object is served faster than objectRate, so that one that never comes to rest does not use up the processor and
// the API server instead of the workers.
//
// All namespaces share the lock, so what is done under it costs O(log n) for n objects that wait. The queue below
// walks past each object that is here and was added again, each time that it looks for the next one. So an event of
// an object that waits here is not passed on.
//
// To the metrics of the queue below, an object that waits here is being worked on.
type fairQueue struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	clock clock.PassiveClock
	stuck stuckOfKind

	mu          sync.Mutex
	changed     *sync.Cond
	freeWorkers int                             // workers that no object has
	tenants     map[string]*tenant              // by namespace: with workers, or waiting for some
	waiting     orderedHeap[*tenant]            // those of tenants that wait
	stuckTenant *tenant                         // of the objects that the StuckRegister names; in neither of the two
	turns       map[reconcile.Request]*turn     // the objects that wait or have a worker
	waitingLen  int                             // how many of turns wait
	turnsTaken  int                             // taken so far
	arrivals    int                             // turns that have come so far
	nextAllowed map[reconcile.Request]time.Time // when objectRate will have allowed all passes so far
	shutdown    bool
}

// newFairQueue returns what makes the queue of a controller with that many workers.
func newFairQueue(workers int, stuck stuckOfKind) func(string, workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		stuck.read()
		below := priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter })
		q := newFairQueueOver(below, workers, stuck, clock.RealClock{})
		go q.moveReady()
		return q
	}
}

func newFairQueueOver(below priorityqueue.PriorityQueue[reconcile.Request], workers int, stuck stuckOfKind, clock clock.PassiveClock) *fairQueue {
	q := &fairQueue{
		PriorityQueue: below, clock: clock, stuck: stuck, freeWorkers: workers,
		tenants: map[string]*tenant{}, waiting: orderedHeap[*tenant]{before: (*tenant).before}, stuckTenant: newTenant(),
		turns: map[reconcile.Request]*turn{}, nextAllowed: map[reconcile.Request]time.Time{},
	}
	q.changed = sync.NewCond(&q.mu)
	return q
}

// moveReady moves what is ready from the queue below, until that is shut down.
func (q *fairQueue) moveReady() {
	for {
		object, priority, shutdown := q.PriorityQueue.GetWithPriority()
		switch early := max(q.throttleDelay(object), q.stuck.delay(object.NamespacedName)); {
		case shutdown:
			q.wakeForShutdown()
			return
		case early > 0:
			q.PriorityQueue.AddWithOpts(priorityqueue.AddOpts{After: early, Priority: &priority}, object)
			q.PriorityQueue.Done(object)
		default:
			q.enqueue(object, priority)
		}
	}
}

// throttleDelay returns for how long objectRate allows the object no other pass.
func (q *fairQueue) throttleDelay(object reconcile.Request) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.nextAllowed[object].Add(-objectBurst * time.Second / objectRate).Sub(q.clock.Now())
}

func (q *fairQueue) enqueue(object reconcile.Request, priority int) {
	stuck := q.stuck.contains(object.NamespacedName)
	q.mu.Lock()
	defer q.mu.Unlock()
	of := q.stuckTenant
	if !stuck {
		of = q.tenantOf(object.Namespace)
	}
	q.arrivals++
	t := &turn{Request: object, of: of, priority: priority, arrival: q.arrivals}
	q.turns[object] = t
	q.waitingLen++
	of.waiting.add(t)
	q.moveTenant(of)
	q.changed.Signal()
}

func (q *fairQueue) tenantOf(namespace string) *tenant {
	of := q.tenants[namespace]
	if of == nil {
		q.turnsTaken++
		of = newTenant()
		of.lastTurn = q.turnsTaken
		q.tenants[namespace] = of
	}
	return of
}

// moveTenant puts a tenant that has changed to its place among those that wait, if it does.
func (q *fairQueue) moveTenant(t *tenant) {
	switch waits := t.waiting.Len() > 0; {
	case t == q.stuckTenant:
	case waits && q.waiting.contains(t):
		q.waiting.move(t)
	case waits:
		q.waiting.add(t)
	case q.waiting.contains(t):
		q.waiting.remove(t)
	}
}

// Add adds an object; see AddWithOpts.
func (q *fairQueue) Add(object reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, object) }

// AddAfter adds an object once that time has passed; see AddWithOpts.
func (q *fairQueue) AddAfter(object reconcile.Request, after time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: after}, object)
}

// AddRateLimited adds an object once the rate limiter allows it; see AddWithOpts.
func (q *fairQueue) AddRateLimited(object reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, object)
}

// AddWithOpts adds the objects to the queue below. The turn of an object that waits here already comes after this
// call, so it needs no other; it may be raised to a higher priority.
func (q *fairQueue) AddWithOpts(o priorityqueue.AddOpts, objects ...reconcile.Request) {
	var others []reconcile.Request
	for _, object := range objects {
		if !q.waits(object, ptr.Deref(o.Priority, 0)) {
			others = append(others, object)
		}
	}
	q.PriorityQueue.AddWithOpts(o, others...)
}

// waits reports whether the object waits here, and gives its turn that priority if that is higher.
func (q *fairQueue) waits(object reconcile.Request, priority int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.turns[object]
	if t == nil || !t.of.waiting.contains(t) {
		return false
	}
	if priority > t.priority { // and it is the last of its equals, as in the queue below
		q.arrivals++
		t.priority, t.arrival = priority, q.arrivals
		t.of.waiting.move(t)
	}
	return true
}

// GetWithPriority waits for an object that may have a worker.
func (q *fairQueue) GetWithPriority() (reconcile.Request, int, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.shutdown {
		if of := q.nextTenant(); of != nil {
			t := of.waiting.first()
			of.waiting.remove(t)
			q.assignWorker(t)
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

// nextTenant returns the tenant to be given a worker, nil for none. Of those that wait, the first has the fewest
// workers: if it has too many, all others do.
func (q *fairQueue) nextTenant() *tenant {
	if q.waiting.Len() > 0 {
		if first := q.waiting.first(); first.busyWorkers < q.freeWorkers {
			return first
		}
	}
	if last := q.stuckTenant; last.waiting.Len() > 0 && last.busyWorkers == 0 && q.freeWorkers > 0 {
		return last
	}
	return nil
}

func (q *fairQueue) assignWorker(t *turn) {
	now := q.clock.Now()
	q.freeWorkers--
	q.waitingLen--
	q.turnsTaken++
	t.of.busyWorkers++
	t.of.lastTurn = q.turnsTaken
	q.moveTenant(t.of)
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
	q.freeWorker(object)
	q.PriorityQueue.Done(object)
}

func (q *fairQueue) freeWorker(object reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	of := q.turns[object].of
	delete(q.turns, object)
	q.freeWorkers++
	of.busyWorkers--
	q.moveTenant(of)
	if of != q.stuckTenant && of.busyWorkers == 0 && of.waiting.Len() == 0 {
		delete(q.tenants, object.Namespace)
	}
	q.changed.Signal()
}

// Len returns how many objects wait for a worker.
func (q *fairQueue) Len() int {
	below := q.PriorityQueue.Len()
	q.mu.Lock()
	defer q.mu.Unlock()
	return below + q.waitingLen
}

func (q *fairQueue) wakeForShutdown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shutdown = true
	q.changed.Broadcast()
}
