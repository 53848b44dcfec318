package converge

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func newRequest(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// testQueue is a fair queue that nothing but a test feeds.
type testQueue struct {
	*fairQueue
	added int
}

// newTestQueue makes one with that many workers; below it nothing is ready.
func newTestQueue(t *testing.T, workers int) *testQueue {
	t.Helper()
	below := priorityqueue.New[reconcile.Request]("")
	t.Cleanup(below.ShutDown)
	return &testQueue{fairQueue: newFairQueueOver(below, workers, stuckOfKind{}, clock.RealClock{})}
}

func (t *testQueue) addMany(n int, namespace string) {
	for range n {
		t.added++
		t.enqueue(newRequest(namespace, fmt.Sprint(t.added)), 0)
	}
}

// assignAll assigns workers until no object may have one, and returns the objects that got them.
func (t *testQueue) assignAll() (got []reconcile.Request) {
	for t.nextTenant() != nil {
		object, _, _ := t.GetWithPriority()
		got = append(got, object)
	}
	return got
}

func namespacesOf(requests []reconcile.Request) string {
	var names []string
	for _, request := range requests {
		names = append(names, request.Namespace)
	}
	return strings.Join(names, " ")
}

func TestWorkersAreShared(t *testing.T) {
	for _, c := range []struct {
		reason string
		greedy []string
		want   string
	}{
		{"one that wants all has half", []string{"a"}, "a a a a"},
		{"two have a third each", []string{"a", "b"}, "a b a b a b"},
		{"each namespace has one before another has two", []string{"a", "b", "c", "d", "e"}, "a b c d e a b"},
		{"as many as there are workers", []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"}, "a b c d e f g h"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			h := newTestQueue(t, 8)
			for _, namespace := range c.greedy {
				h.addMany(20, namespace)
			}
			if got := namespacesOf(h.assignAll()); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Whatever one namespace does, another's first object has a worker at once.
func TestALateComerDoesNotWaitForWhoHasMany(t *testing.T) {
	h := newTestQueue(t, 8)
	h.addMany(1000, "a")
	h.assignAll()
	h.addMany(1, "b")
	if got := namespacesOf(h.assignAll()); got != "b" {
		t.Errorf("got %q", got)
	}
}

// When all workers are taken, each that gets free goes to another namespace.
func TestFreeWorkersGoRound(t *testing.T) {
	h := newTestQueue(t, 3)
	h.addMany(9, "a")
	h.addMany(9, "b")
	h.addMany(9, "c")
	taken := h.assignAll()
	h.addMany(9, "d")
	var got []reconcile.Request
	for range 8 {
		h.Done(taken[0])
		next := h.assignAll()
		taken, got = append(taken[1:], next...), append(got, next...)
	}
	if want := "a b c d a b c d"; namespacesOf(got) != want {
		t.Errorf("got %q, want %q", namespacesOf(got), want)
	}
}

// enqueueEach enqueues one object of each namespace.
func (t *testQueue) enqueueEach(priority int, namespaces ...string) {
	for _, namespace := range namespaces {
		t.added++
		t.enqueue(newRequest(namespace, fmt.Sprint(t.added)), priority)
	}
}

func TestWhichNamespaceIsNext(t *testing.T) {
	const low, ordinary = -100, 0
	for _, c := range []struct {
		reason string
		come   func(h *testQueue)
		want   string
	}{
		{"a namespace with ordinary work is before those with low work only", func(h *testQueue) {
			h.enqueueEach(low, "a", "b", "c")
			h.enqueueEach(ordinary, "d")
		}, "d a b c"},
		{"low work of a namespace does not hold up its ordinary work", func(h *testQueue) {
			h.enqueueEach(low, "a", "b", "c")
			h.enqueueEach(ordinary, "c")
		}, "c a b c"},
		{"a namespace whose object is raised moves to the front", func(h *testQueue) {
			h.enqueueEach(low, "a", "b", "c", "d")
			h.Add(newRequest("d", "4"))
		}, "d a b c"},
		{"a namespace with a worker is after one without, also if that has low work only", func(h *testQueue) {
			h.enqueueEach(ordinary, "a", "a", "a")
			h.enqueueEach(low, "b")
		}, "a b a a"},
		{"namespaces with ordinary work take turns", func(h *testQueue) {
			h.enqueueEach(ordinary, "a", "a", "b", "b", "c", "c")
		}, "a b c a b c"},
		{"namespaces with low work take turns", func(h *testQueue) {
			h.enqueueEach(low, "a", "a", "b", "b", "c", "c")
		}, "a b c a b c"},
		{"namespaces with ordinary work and those with low work take turns", func(h *testQueue) {
			h.enqueueEach(low, "a", "b", "c")
			h.enqueueEach(ordinary, "d", "e", "f")
		}, "d a e b f c"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			h := newTestQueue(t, 16)
			c.come(h)
			if got := namespacesOf(h.assignAll()); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestWithinANamespaceUrgentObjectsAreFirst(t *testing.T) {
	h := newTestQueue(t, 8)
	for _, added := range []struct {
		name     string
		priority int
	}{{"first seen", -100}, {"second seen", -100}, {"first changed", 0}, {"second changed", 0}} {
		h.enqueue(newRequest("a", added.name), added.priority)
	}
	var got []string
	for _, request := range h.assignAll() {
		got = append(got, request.Name)
	}
	if want := []string{"first changed", "second changed", "first seen", "second seen"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Nothing is kept of a namespace that is at rest.
func TestWhoIsAtRestIsForgotten(t *testing.T) {
	h := newTestQueue(t, 8)
	h.addMany(3, "a")
	for _, request := range h.assignAll() {
		h.Done(request)
	}
	if len(h.tenants) != 0 || h.freeWorkers != 8 {
		t.Errorf("%d namespaces, %d workers free", len(h.tenants), h.freeWorkers)
	}
}

// withQueue runs a test over a whole queue, in fake time that goes by when all wait.
func withQueue(t *testing.T, test func(t *testing.T, q *fairQueue)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minBackoff, maxBackoff)
		q := newFairQueue(4, stuckOfKind{})("", limiter).(*fairQueue)
		test(t, q)
		q.ShutDown()
	})
}

// timeRequeues makes passes of an object, each asking for the next at once, and returns how long they take.
func timeRequeues(q *fairQueue, passes int) time.Duration {
	start := time.Now()
	for range passes {
		object, _ := q.Get()
		q.Add(object)
		q.Done(object)
	}
	return time.Since(start)
}

func TestAnObjectThatNeverRestsIsHeldToItsPace(t *testing.T) {
	withQueue(t, func(t *testing.T, q *fairQueue) {
		q.Add(newRequest("a", "restless"))
		if took := timeRequeues(q, objectBurst); took != 0 {
			t.Errorf("its first %d passes took %s", objectBurst, took)
		}
		if took, want := timeRequeues(q, 10*objectRate), 10*time.Second; took < want-time.Second || took > want {
			t.Errorf("%d passes took %s, want %s", 10*objectRate, took, want)
		}
	})
}

// Its next event waits for one interval of objectRate at most, and the events of others do not.
func TestAnObjectThatHasRestedIsServedAtOnce(t *testing.T) {
	withQueue(t, func(t *testing.T, q *fairQueue) {
		restless := newRequest("a", "restless")
		q.Add(restless)
		timeRequeues(q, 10*objectBurst)
		q.Add(newRequest("a", "another"))
		start := time.Now()
		if got, _ := q.Get(); got.Name != "another" || time.Since(start) != 0 {
			t.Errorf("%s is served after %s", got.Name, time.Since(start))
		}
		if got, _ := q.Get(); got != restless || time.Since(start) > time.Second/objectRate {
			t.Errorf("%s is served after %s", got.Name, time.Since(start))
		}
		q.Done(restless)
		<-time.After(objectBurst * time.Second / objectRate)
		q.Add(restless)
		if took := timeRequeues(q, objectBurst); took != 0 {
			t.Errorf("after a rest %d passes took %s", objectBurst, took)
		}
	})
}

// What the queue below promises is kept: an object is with one worker, once for any number of
// events, and again if there was one meanwhile.
func TestAnObjectIsWithOneWorker(t *testing.T) {
	withQueue(t, func(t *testing.T, q *fairQueue) {
		request := newRequest("a", "one")
		q.Add(request)
		q.Add(request)
		got, _ := q.Get()
		q.Add(request)
		synctest.Wait()
		if q.nextTenant() != nil {
			t.Error("two workers have it")
		}
		q.Done(got)
		synctest.Wait()
		if q.Len() != 1 {
			t.Errorf("%d objects wait after an event during the pass", q.Len())
		}
		again, _ := q.Get()
		q.Done(again)
		synctest.Wait()
		if q.Len() != 0 {
			t.Errorf("%d objects wait without an event", q.Len())
		}
	})
}

func TestShutDownEndsWhoWaits(t *testing.T) {
	ended := make(chan bool, 1)
	withQueue(t, func(_ *testing.T, q *fairQueue) {
		go func() { _, shutdown := q.Get(); ended <- shutdown }()
		synctest.Wait()
	})
	if !<-ended {
		t.Error("it was given an object")
	}
}

// countComparisons counts those of the tenants, and those of the objects of one namespace.
func (t *testQueue) countComparisons(namespace string) *int {
	count := new(int)
	for _, tenants := range []*orderedHeap[*tenant]{&t.waiting.ordinary, &t.waiting.low} {
		tenants.before = func(a, b *tenant) bool { *count++; return a.before(b) }
	}
	t.tenantOf(namespace).waiting.before = func(a, b *turn) bool { *count++; return a.before(b) }
	return count
}

// All namespaces share the lock. Under it, an object costs a number of comparisons that grows with the logarithm of how
// many wait, however many one namespace has, and however many namespaces there are.
func TestAnObjectCostsFewComparisons(t *testing.T) {
	const many = 100_000
	for name, namespaceOf := range map[string]func(int) string{
		"many objects of one namespace": func(int) string { return "0" },
		"one object of many namespaces": strconv.Itoa,
	} {
		t.Run(name, func(t *testing.T) {
			h := newTestQueue(t, 8)
			count := h.countComparisons("0")
			check := func(what string, operations int) {
				t.Helper()
				// Two heaps; each compares at most two children with each other and with what sinks, on each of its levels.
				if limit := operations * 2 * 2 * bits.Len(many); *count > limit {
					t.Errorf("%d %s cost %d comparisons, want at most %d", operations, what, *count, limit)
				}
				*count = 0
			}
			for i := range many {
				h.enqueue(newRequest(namespaceOf(i), strconv.Itoa(i)), i%3-100) // in the worst of orders, too
			}
			check("objects that come", many)
			for i := range many {
				h.Add(newRequest(namespaceOf(i), strconv.Itoa(i)))
			}
			check("events of objects that wait", many)
			for range many {
				object, _, _ := h.GetWithPriority()
				h.Done(object)
			}
			check("objects that are served", 2*many)
			if h.Len() != 0 || len(h.tenants)+len(h.turns) != 0 || h.waiting.first() != nil {
				t.Errorf("%d objects, %d namespaces and %d turns are left", h.Len(), len(h.tenants), len(h.turns))
			}
		})
	}
}

// The queue below walks past every object that it may not hand out, each time that it looks for one.
func TestAnEventOfAnObjectThatWaitsEndsHere(t *testing.T) {
	h := newTestQueue(t, 8)
	for _, name := range []string{"first", "second", "third"} {
		h.enqueue(newRequest("a", name), -100)
	}
	h.Add(newRequest("a", "second"))
	h.AddAfter(newRequest("a", "third"), time.Hour)
	h.AddRateLimited(newRequest("a", "second"))
	if below := h.PriorityQueue.Len(); below != 0 || h.Len() != 3 {
		t.Errorf("%d objects are below, and %d wait", below, h.Len())
	}
	var got []string
	for range 3 {
		object, _, _ := h.GetWithPriority()
		got = append(got, object.Name)
	}
	if want := []string{"second", "third", "first"}; !slices.Equal(got, want) {
		t.Errorf("an event raises an object that was merely seen: got %q, want %q", got, want)
	}
	h.Add(newRequest("a", "first"))
	if below := h.PriorityQueue.Len(); below != 1 {
		t.Error("an event during the pass is lost")
	}
}

// Nothing of the queue below says that an object has left it and is not here yet, so the test moves it as moveReady does.
func TestAnEventBetweenTheTwoQueuesRaisesAnObject(t *testing.T) {
	low, object := -100, newRequest("a", "moving")
	h := newTestQueue(t, 8)
	h.AddWithOpts(priorityqueue.AddOpts{Priority: &low}, object)
	moved, priority, _ := h.PriorityQueue.GetWithPriority()
	h.Add(object)
	h.enqueue(moved, priority)
	if got, priority, _ := h.GetWithPriority(); got != object || priority != 0 {
		t.Errorf("got %v with priority %d, want the priority of the event", got, priority)
	}
	h.Done(object)
	if again, priority, _ := h.PriorityQueue.GetWithPriority(); again != object || priority != 0 {
		t.Errorf("got %v with priority %d after that turn, want the event", again, priority)
	}
	h.enqueue(object, low) // without another event
	if _, priority, _ := h.GetWithPriority(); priority != low || len(h.passedOn) != 0 {
		t.Errorf("a later turn has priority %d; passed on are %v", priority, h.passedOn)
	}
}

// newStuckQueue makes a queue that knows these objects of a kind as stuck.
func newStuckQueue(t *testing.T, workers int, objects ...StuckObject) *testQueue {
	t.Helper()
	h := newTestQueue(t, workers)
	h.stuck = stuckOfKind{newStuckRegister(t, clock.RealClock{}, objects...), "Redis"}
	return h
}

func TestStuckObjectsAreLastAndOneAtATime(t *testing.T) {
	now := time.Now()
	h := newStuckQueue(t, 8, StuckObject{Kind: "Redis", Namespace: "a", Name: "1", LastSeen: now},
		StuckObject{Kind: "Redis", Namespace: "a", Name: "2", LastSeen: now},
		StuckObject{Kind: "Memcached", Namespace: "a", Name: "3", LastSeen: now})
	h.addMany(4, "a")
	h.addMany(1, "b")
	names := func(requests []reconcile.Request) (names []string) {
		for _, request := range requests {
			names = append(names, request.Name)
		}
		return names
	}
	got := h.assignAll()
	if want := []string{"3", "5", "4", "1"}; !slices.Equal(names(got), want) {
		t.Errorf("got %q, want %q: a Memcached of that name is no stuck Redis", names(got), want)
	}
	h.Done(got[0])
	h.addMany(1, "a")
	if got := names(h.assignAll()); !slices.Equal(got, []string{"6"}) {
		t.Errorf("got %q: a second one has a worker", got)
	}
	h.Done(got[3])
	if got := names(h.assignAll()); !slices.Equal(got, []string{"2"}) {
		t.Errorf("got %q, want the other one once the first has ended", got)
	}
}

func BenchmarkFairQueue(b *testing.B) {
	for _, waiting := range []int{100, 10_000, 100_000} {
		b.Run(fmt.Sprintf("%d objects wait", waiting), func(b *testing.B) {
			below := priorityqueue.New[reconcile.Request]("")
			defer below.ShutDown()
			q := newFairQueueOver(below, 8, stuckOfKind{}, clock.RealClock{})
			objects := make([]reconcile.Request, waiting+1)
			for i := range objects {
				objects[i] = newRequest("a", strconv.Itoa(i))
				q.enqueue(objects[i], 0)
			}
			for b.Loop() {
				object, _ := q.Get()
				q.Done(object)
				q.enqueue(object, 0)
			}
		})
	}
}
