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
	// pace of one object: as many passes per second, and sparePasses at once before that
	// counts. A failover takes some ten passes and a set that syncs one each 100 ms, so only an
	// object whose servers or events never come to rest is held back, each time by 100 ms at most.
	pace        = 10
	sparePasses = 50

	// sweep what is known of objects that have come to rest, each so many turns.
	sweep = 1024
)

// fairQueue divides a controller's workers between the namespaces. It holds what the queue below
// has found ready, and gives it to the workers by two rules:
//
//   - A namespace has fewer workers than are free: dynamic thresholds, as switches divide a
//     buffer between their ports, https://doi.org/10.1109/90.664262. One that wants all
//     has half of them; k that do have 1/(k+1) each; and as much is always left for the others.
//   - Of those that wait, the namespace with the fewest workers is next, and of those the one
//     that was served, or came, before the others.
//
// No object is served faster than its pace, so that one that never comes to rest does not use
// up the processor and the API server instead of the workers.
//
// To the metrics of the queue below, whoever waits here is being worked on.
type fairQueue struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	clock clock.PassiveClock

	mu       sync.Mutex
	changed  *sync.Cond
	free     int                             // workers
	tenants  map[string]*tenant              // by namespace: with workers, or waiting for some
	turns    int                             // taken so far
	due      map[reconcile.Request]time.Time // when the pace had allowed all passes that there were
	shutdown bool
}

// tenant is a namespace that wants workers.
type tenant struct {
	busy    int // workers
	last    int // turn of all that it was served at, or came at
	waiting []turn
}

// turn of an object to be reconciled.
type turn struct {
	reconcile.Request
	priority int
}

// newFairQueue gives a controller with that many workers its queue.
func newFairQueue(workers int) func(string, workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		below := priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter })
		q := fairOver(below, workers, clock.RealClock{})
		go q.take()
		return q
	}
}

func fairOver(below priorityqueue.PriorityQueue[reconcile.Request], workers int, clock clock.PassiveClock) *fairQueue {
	q := &fairQueue{PriorityQueue: below, clock: clock, free: workers, tenants: map[string]*tenant{}, due: map[reconcile.Request]time.Time{}}
	q.changed = sync.NewCond(&q.mu)
	return q
}

// take what is ready, until the queue below is shut down.
func (q *fairQueue) take() {
	for {
		object, priority, shutdown := q.PriorityQueue.GetWithPriority()
		switch early := q.early(object); {
		case shutdown:
			q.end()
			return
		case early > 0:
			q.AddWithOpts(priorityqueue.AddOpts{After: early, Priority: &priority}, object)
			q.PriorityQueue.Done(object)
		default:
			q.admit(turn{object, priority})
		}
	}
}

// early is how long the object's pace does not allow it another pass.
func (q *fairQueue) early(object reconcile.Request) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.due[object].Add(-sparePasses * time.Second / pace).Sub(q.clock.Now())
}

func (q *fairQueue) admit(t turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	of := q.tenants[t.Namespace]
	if of == nil {
		q.turns++
		of = &tenant{last: q.turns}
		q.tenants[t.Namespace] = of
	}
	after := slices.IndexFunc(of.waiting, func(other turn) bool { return other.priority < t.priority })
	if after < 0 {
		after = len(of.waiting)
	}
	of.waiting = slices.Insert(of.waiting, after, t)
	q.changed.Signal()
}

// GetWithPriority waits for an object that a worker may be spent on.
func (q *fairQueue) GetWithPriority() (reconcile.Request, int, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.shutdown {
		if of := q.next(); of != nil {
			t := of.waiting[0]
			of.waiting = slices.Delete(of.waiting, 0, 1)
			q.serve(t, of)
			if q.next() != nil { // another worker can be spent, too
				q.changed.Signal()
			}
			return t.Request, t.priority, false
		}
		q.changed.Wait()
	}
	return reconcile.Request{}, 0, true
}

// Get is GetWithPriority for whoever has no use for the priority.
func (q *fairQueue) Get() (reconcile.Request, bool) {
	object, _, shutdown := q.GetWithPriority()
	return object, shutdown
}

// next tenant to be given a worker, nil for none.
func (q *fairQueue) next() *tenant {
	var next *tenant
	for _, t := range q.tenants {
		if len(t.waiting) > 0 && t.busy < q.free && (next == nil || t.before(next)) {
			next = t
		}
	}
	return next
}

func (t *tenant) before(other *tenant) bool {
	if t.busy != other.busy {
		return t.busy < other.busy
	}
	return t.last < other.last
}

func (q *fairQueue) serve(t turn, of *tenant) {
	now := q.clock.Now()
	q.free--
	of.busy++
	q.turns++
	of.last = q.turns
	if due := q.due[t.Request]; due.After(now) {
		q.due[t.Request] = due.Add(time.Second / pace)
	} else {
		q.due[t.Request] = now.Add(time.Second / pace)
	}
	if q.turns%sweep == 0 {
		maps.DeleteFunc(q.due, func(_ reconcile.Request, due time.Time) bool { return due.Before(now) })
	}
}

// Done gives the object's worker back.
func (q *fairQueue) Done(object reconcile.Request) {
	q.PriorityQueue.Done(object)
	q.mu.Lock()
	defer q.mu.Unlock()
	of := q.tenants[object.Namespace]
	q.free++
	of.busy--
	if of.busy == 0 && len(of.waiting) == 0 {
		delete(q.tenants, object.Namespace)
	}
	q.changed.Signal()
}

// Len is how many objects wait for a worker.
func (q *fairQueue) Len() int {
	waiting := q.PriorityQueue.Len()
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, t := range q.tenants {
		waiting += len(t.waiting)
	}
	return waiting
}

func (q *fairQueue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shutdown = true
	q.changed.Broadcast()
}
