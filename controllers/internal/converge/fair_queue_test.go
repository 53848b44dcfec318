package converge

import (
	"fmt"
	"slices"
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
	return &testQueue{fairQueue: newFairQueueOver(below, workers, clock.RealClock{})}
}

func (h *testQueue) addMany(n int, namespace string) {
	for range n {
		h.added++
		h.enqueue(turn{Request: newRequest(namespace, fmt.Sprint(h.added))})
	}
}

// assignAll assigns workers until no object may have one, and returns the objects that got them.
func (h *testQueue) assignAll() (got []reconcile.Request) {
	for h.nextTenant() != nil {
		object, _, _ := h.GetWithPriority()
		got = append(got, object)
	}
	return got
}

func namespacesOf(of []reconcile.Request) string {
	var names []string
	for _, one := range of {
		names = append(names, one.Namespace)
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

func TestWithinANamespaceUrgentObjectsAreFirst(t *testing.T) {
	h := newTestQueue(t, 8)
	for _, one := range []struct {
		name     string
		priority int
	}{{"first seen", -100}, {"also seen", -100}, {"changed", 0}, {"also changed", 0}} {
		h.enqueue(turn{newRequest("a", one.name), one.priority})
	}
	var got []string
	for _, one := range h.assignAll() {
		got = append(got, one.Name)
	}
	if want := []string{"changed", "also changed", "first seen", "also seen"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Nothing is kept of a namespace that is at rest.
func TestWhoIsAtRestIsForgotten(t *testing.T) {
	h := newTestQueue(t, 8)
	h.addMany(3, "a")
	for _, one := range h.assignAll() {
		h.Done(one)
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
		q := newFairQueue(4)("", limiter).(*fairQueue)
		test(t, q)
		q.ShutDown()
	})
}

// timeRequeues makes passes of an object, each asking for the next at once, and returns how long they take.
func timeRequeues(q *fairQueue, passes int) time.Duration {
	began := time.Now()
	for range passes {
		object, _ := q.Get()
		q.Add(object)
		q.Done(object)
	}
	return time.Since(began)
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

// Its next event waits for one interval of objectRate at most, and nobody else's does.
func TestAnObjectThatHasRestedIsServedAtOnce(t *testing.T) {
	withQueue(t, func(t *testing.T, q *fairQueue) {
		one := newRequest("a", "restless")
		q.Add(one)
		timeRequeues(q, 10*objectBurst)
		q.Add(newRequest("a", "another"))
		began := time.Now()
		if got, _ := q.Get(); got.Name != "another" || time.Since(began) != 0 {
			t.Errorf("%s is served after %s", got.Name, time.Since(began))
		}
		if got, _ := q.Get(); got != one || time.Since(began) > time.Second/objectRate {
			t.Errorf("%s is served after %s", got.Name, time.Since(began))
		}
		q.Done(one)
		<-time.After(objectBurst * time.Second / objectRate)
		q.Add(one)
		if took := timeRequeues(q, objectBurst); took != 0 {
			t.Errorf("after a rest %d passes took %s", objectBurst, took)
		}
	})
}

// What the queue below promises is kept: an object is with one worker, once for any number of
// events, and again if there was one meanwhile.
func TestAnObjectIsWithOneWorker(t *testing.T) {
	withQueue(t, func(t *testing.T, q *fairQueue) {
		one := newRequest("a", "one")
		q.Add(one)
		q.Add(one)
		got, _ := q.Get()
		q.Add(one)
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
