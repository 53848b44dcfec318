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
//   - Of the namespaces that wait, the first of waitingTenants is next.
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
	waiting     waitingTenants                  // those of tenants that have an object that waits
	stuckTenant *tenant                         // of the objects that the StuckRegister names; not among waiting
	turns       map[reconcile.Request]*turn     // the objects that wait or have a worker
	waitingLen  int                             // how many of turns wait
	turnsTaken  int                             // taken so far
	arrivals    int                             // turns that have come so far
	passedOn    map[reconcile.Request]int       // the highest priority of the events passed on below, until the object comes from there
	nextAllowed map[reconcile.Request]time.Time // when objectRate will have allowed all passes so far
	shutdown    bool
}

// newFairQueue returns what makes the queue of a controller with that many workers.
func newFairQueue(workers int, stuck stuckOfKind) func(string,
	workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		stuck.read()
		below := priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter })
		q := newFairQueueOver(below, workers, stuck, clock.RealClock{})
		go q.moveReady()
		return q
	}
}

func newFairQueueOver(below priorityqueue.PriorityQueue[reconcile.Request], workers int, stuck stuckOfKind,
	clock clock.PassiveClock) *fairQueue {
	q := &fairQueue{
		PriorityQueue: below, clock: clock, stuck: stuck, freeWorkers: workers,
		tenants: map[string]*tenant{}, waiting: newWaitingTenants(), stuckTenant: newTenant(),
		turns: map[reconcile.Request]*turn{}, passedOn: map[reconcile.Request]int{}, nextAllowed: map[reconcile.Request]time.Time{},
	}
	q.changed = sync.NewCond(&q.mu)
	return q
}

// moveReady moves what is ready from the queue below, until that is shut down.
func (f *fairQueue) moveReady() {
	for {
		object, priority, shutdown := f.PriorityQueue.GetWithPriority()
		switch early := max(f.throttleDelay(object), f.stuck.delay(object.NamespacedName)); {
		case shutdown:
			f.wakeForShutdown()
			return
		case early > 0:
			f.PriorityQueue.AddWithOpts(priorityqueue.AddOpts{After: early, Priority: &priority}, object)
			f.PriorityQueue.Done(object)
		default:
			f.enqueue(object, priority)
		}
	}
}

// throttleDelay returns for how long objectRate allows the object no other pass.
func (f *fairQueue) throttleDelay(object reconcile.Request) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.nextAllowed[object].Add(-objectBurst * time.Second / objectRate).Sub(f.clock.Now())
}

// enqueue makes an object from the queue below wait for a worker. An event may have added the object again after it left that queue
// and before it is here: that queue then has the object a second time, with the priority of the event, and hands it out after this turn.
// So passedOn has that priority for this turn, too.
func (f *fairQueue) enqueue(object reconcile.Request, priority int) {
	stuck := f.stuck.contains(object.NamespacedName)
	f.mu.Lock()
	defer f.mu.Unlock()
	of := f.stuckTenant
	if !stuck {
		of = f.tenantOf(object.Namespace)
	}
	if added, ok := f.passedOn[object]; ok {
		priority = max(priority, added)
		delete(f.passedOn, object)
	}
	f.arrivals++
	t := &turn{Request: object, of: of, priority: priority, arrival: f.arrivals}
	f.turns[object] = t
	f.waitingLen++
	of.waiting.add(t)
	f.moveTenant(of)
	f.changed.Signal()
}

func (f *fairQueue) tenantOf(namespace string) *tenant {
	of := f.tenants[namespace]
	if of == nil {
		f.turnsTaken++
		of = newTenant()
		of.lastTurn = f.turnsTaken
		f.tenants[namespace] = of
	}
	return of
}

// moveTenant moves a tenant that has changed to its place among those that wait.
func (f *fairQueue) moveTenant(t *tenant) {
	if t != f.stuckTenant {
		f.waiting.move(t)
	}
}

// Add adds an object; see AddWithOpts.
func (f *fairQueue) Add(object reconcile.Request) { f.AddWithOpts(priorityqueue.AddOpts{}, object) }

// AddAfter adds an object once that time has passed; see AddWithOpts.
func (f *fairQueue) AddAfter(object reconcile.Request, after time.Duration) {
	f.AddWithOpts(priorityqueue.AddOpts{After: after}, object)
}

// AddRateLimited adds an object once the rate limiter allows it; see AddWithOpts.
func (f *fairQueue) AddRateLimited(object reconcile.Request) {
	f.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, object)
}

// AddWithOpts adds the objects to the queue below. The turn of an object that waits here already comes after this
// call, so it needs no other; it may be raised to a higher priority.
func (f *fairQueue) AddWithOpts(o priorityqueue.AddOpts, objects ...reconcile.Request) {
	var others []reconcile.Request
	for _, object := range objects {
		if !f.raise(object, ptr.Deref(o.Priority, 0)) {
			others = append(others, object)
		}
	}
	f.PriorityQueue.AddWithOpts(o, others...)
}

// raise gives that priority, if it is higher, to the turn of an object that waits here, or else to its next turn. It reports whether the
// object waits here.
func (f *fairQueue) raise(object reconcile.Request, priority int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.turns[object]
	if t == nil || !t.of.waiting.contains(t) {
		if known, ok := f.passedOn[object]; !ok || priority > known {
			f.passedOn[object] = priority
		}
		return false
	}
	if priority > t.priority { // and it is the last of its equals, as in the queue below
		f.arrivals++
		t.priority, t.arrival = priority, f.arrivals
		t.of.waiting.move(t)
		f.moveTenant(t.of)
	}
	return true
}

// GetWithPriority waits for an object that may have a worker.
func (f *fairQueue) GetWithPriority() (reconcile.Request, int, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for !f.shutdown {
		if of := f.nextTenant(); of != nil {
			t := of.waiting.first()
			of.waiting.remove(t)
			f.assignWorker(t)
			if f.nextTenant() != nil { // another worker can be spent, too
				f.changed.Signal()
			}
			return t.Request, t.priority, false
		}
		f.changed.Wait()
	}
	return reconcile.Request{}, 0, true
}

// Get is GetWithPriority for a caller that has no use for the priority.
func (f *fairQueue) Get() (reconcile.Request, bool) {
	object, _, shutdown := f.GetWithPriority()
	return object, shutdown
}

// nextTenant returns the tenant to be given a worker, nil for none. Of those that wait, the first has the fewest
// workers: if it has too many, all others do.
func (f *fairQueue) nextTenant() *tenant {
	if first := f.waiting.first(); first != nil && first.busyWorkers < f.freeWorkers {
		return first
	}
	if last := f.stuckTenant; last.waiting.Len() > 0 && last.busyWorkers == 0 && f.freeWorkers > 0 {
		return last
	}
	return nil
}

func (f *fairQueue) assignWorker(t *turn) {
	now := f.clock.Now()
	if t.of != f.stuckTenant {
		f.waiting.lowIsNext = !t.isLow()
	}
	f.freeWorkers--
	f.waitingLen--
	f.turnsTaken++
	t.of.busyWorkers++
	t.of.lastTurn = f.turnsTaken
	f.moveTenant(t.of)
	if due := f.nextAllowed[t.Request]; due.After(now) {
		f.nextAllowed[t.Request] = due.Add(time.Second / objectRate)
	} else {
		f.nextAllowed[t.Request] = now.Add(time.Second / objectRate)
	}
	if f.turnsTaken%sweepTurns == 0 {
		maps.DeleteFunc(f.nextAllowed, func(_ reconcile.Request, due time.Time) bool { return due.Before(now) })
	}
}

// Done gives the object's worker back.
func (f *fairQueue) Done(object reconcile.Request) {
	f.freeWorker(object)
	f.PriorityQueue.Done(object)
}

func (f *fairQueue) freeWorker(object reconcile.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	of := f.turns[object].of
	delete(f.turns, object)
	f.freeWorkers++
	of.busyWorkers--
	f.moveTenant(of)
	if of != f.stuckTenant && of.busyWorkers == 0 && of.waiting.Len() == 0 {
		delete(f.tenants, object.Namespace)
	}
	f.changed.Signal()
}

// Len returns how many objects wait for a worker.
func (f *fairQueue) Len() int {
	below := f.PriorityQueue.Len()
	f.mu.Lock()
	defer f.mu.Unlock()
	return below + f.waitingLen
}

func (f *fairQueue) wakeForShutdown() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shutdown = true
	f.changed.Broadcast()
}
