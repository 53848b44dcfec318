package controllers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// stuckCluster has five Redis. A pass over the one that is named "stuck" never ends, except if it is to.
type stuckCluster struct {
	client.WithWatch
	t     *testing.T
	ends  bool
	slow  bool // the API server answers no question for an object
	never chan struct{}
}

func newStuckCluster(t *testing.T) *stuckCluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := &stuckCluster{t: t, never: make(chan struct{})}
	objects := []client.Object{}
	for _, name := range []string{"stuck", "b", "c", "d", "e"} {
		redis := &cachev1alpha1.Redis{}
		redis.Namespace, redis.Name, redis.UID, redis.Generation = "shop", name, types.UID(name), 1
		objects = append(objects, redis)
	}
	c.WithWatch = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&cachev1alpha1.Redis{}).
		WithInterceptorFuncs(interceptor.Funcs{Get: func(ctx context.Context, api client.WithWatch, key client.ObjectKey, into client.Object,
			options ...client.GetOption) error {
			if _, is := into.(*cachev1alpha1.Redis); is && c.slow {
				<-ctx.Done()
				return ctx.Err()
			}
			return api.Get(ctx, key, into, options...)
		}}).Build()
	return c
}

// stuckProcess is a leader with few workers, and all that takes part in a restart because of a stuck object.
type stuckProcess struct {
	*stuckCluster
	tracker *converge.ReconcileTracker
	alive   func() error
	end     context.CancelFunc
	started time.Time

	mu     sync.Mutex
	served map[string]time.Duration // by name, when its first pass started
}

// startLeader starts one, which reconciles all objects, the one that will be stuck first.
func (s *stuckCluster) startLeader() *stuckProcess {
	ctx, end := context.WithCancel(s.t.Context())
	tracker := &converge.ReconcileTracker{Clock: clock.RealClock{}}
	store := stuckStore{s, s, "operators", logr.Discard()}
	register := &converge.StuckRegister{Read: store.read, Clock: clock.RealClock{}}
	go func() { _ = (&stuckWatcher{tracker, register, store, clock.RealClock{}}).Start(ctx) }()
	converger := &converge.Converger{Client: s, APIReader: s, Tracker: tracker, Stuck: register, Events: events.NewFakeRecorder(100)}
	p := &stuckProcess{stuckCluster: s, tracker: tracker, end: end, started: time.Now(), served: map[string]time.Duration{}}
	check := livenessCheck(tracker, logr.Discard())
	p.alive = func() error { return check(nil) }
	options := converger.ProbingOptions(&cachev1alpha1.Redis{})
	queue := options.NewQueue("", options.RateLimiter).(priorityqueue.PriorityQueue[reconcile.Request])
	for _, name := range []string{"stuck", "b", "c", "d", "e"} {
		queue.Add(ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: name}})
	}
	for range 2 {
		go func() {
			for {
				request, _, shutdown := queue.GetWithPriority()
				if shutdown {
					return
				}
				p.pass(ctx, converger, request, options.ReconciliationTimeout)
				queue.Done(request)
			}
		}()
	}
	go func() { <-ctx.Done(); queue.ShutDown() }()
	return p
}

// pass runs one as controller-runtime does.
func (s *stuckProcess) pass(ctx context.Context, c *converge.Converger, request ctrl.Request, timeout time.Duration) {
	ctx, done := context.WithTimeout(ctx, timeout)
	defer done()
	_, _ = converge.Reconcile(ctx, c, request, &cachev1alpha1.Redis{},
		func(_ context.Context, redis *cachev1alpha1.Redis, _ converge.SaveStatus) (ctrl.Result, error) {
			s.note(redis.Name)
			if redis.Name == "stuck" && !s.ends {
				<-s.never // a computation asks no context
			}
			return ctrl.Result{}, nil
		})
}

func (s *stuckProcess) note(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, already := s.served[name]; !already {
		s.served[name] = time.Since(s.started)
	}
}

// runUntilStuck returns for how long the process was alive; it gives up after an hour.
func (s *stuckProcess) runUntilStuck() time.Duration {
	start := time.Now()
	for time.Since(start) < time.Hour {
		<-time.After(20 * time.Second) // as the kubelet asks
		if s.alive() != nil {
			break
		}
	}
	s.end()
	synctest.Wait()
	return time.Since(start)
}

func (s *stuckCluster) noted() []converge.StuckObject {
	s.t.Helper()
	objects, err := stuckStore{s, s, "operators", logr.Discard()}.read(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return objects
}

func (s *stuckCluster) redis(name string) *cachev1alpha1.Redis {
	s.t.Helper()
	redis := &cachev1alpha1.Redis{}
	if err := s.Get(s.t.Context(), types.NamespacedName{Namespace: "shop", Name: name}, redis); err != nil {
		s.t.Fatal(err)
	}
	return redis
}

// expectLife runs the leader until it is stuck or an hour has passed. It serves so many objects, the one that is named
// "stuck" after that time, and the others at once.
func (s *stuckProcess) expectLife(shortest, longest time.Duration, objects int, stuckAfter time.Duration) {
	s.t.Helper()
	lived := s.runUntilStuck()
	if lived < shortest || lived > longest || len(s.served) != objects || s.served["stuck"] != stuckAfter ||
		s.served["b"]+s.served["c"]+s.served["d"]+s.served["e"] != 0 {
		s.t.Errorf("it lived for %s and served %v, want from %s to %s and %d objects, the stuck one after %s", lived, s.served, shortest, longest,
			objects, stuckAfter)
	}
}

// The first leader is stuck in an object. For the next one it is last; it stops that one, too, and the third leaves it
// alone and says so, until it expires.
func TestAStuckObjectStopsTwoLeadersAndIsLastForTheSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newStuckCluster(t)
		expectNoted := func(restarts int) {
			t.Helper()
			if got := c.noted(); len(got) != 1 || got[0].Name != "stuck" || got[0].UID != "stuck" || got[0].Generation != 1 ||
				got[0].Restarts != restarts {
				t.Fatalf("noted: %v", got)
			}
		}
		c.startLeader().expectLife(15*time.Minute, 16*time.Minute, 5, 0)
		expectNoted(1)
		c.startLeader().expectLife(16*time.Minute, 17*time.Minute, 5, time.Minute)
		expectNoted(2)
		c.startLeader().expectLife(time.Hour, 2*time.Hour, 4, 0)
		expectNoted(2)
		degraded := meta.FindStatusCondition(c.redis("stuck").Status.Conditions, commonv1.ConditionDegraded)
		if degraded == nil || degraded.Reason != commonv1.ReasonReconcileStuck {
			t.Errorf("its condition is %v", degraded)
		}
		<-time.After(24 * time.Hour)
		c.ends = true
		c.startLeader().expectLife(time.Hour, 2*time.Hour, 5, 0)
		close(c.never)
	})
}

// A pass that waits for the API server ends with its context.
func TestASlowAPIServerMarksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newStuckCluster(t)
		c.slow = true
		leader := c.startLeader()
		if lived := leader.runUntilStuck(); lived < time.Hour {
			t.Errorf("the leader lived for %s", lived)
		}
		if got := c.noted(); got != nil {
			t.Errorf("noted: %v", got)
		}
	})
}

// What a human or a mistake leaves in the ConfigMap stops nothing, and is replaced.
func TestTheConfigMapOfStuckObjectsCanBeAnything(t *testing.T) {
	c := newStuckCluster(t)
	kept := &corev1.ConfigMap{Data: map[string]string{stuckKey: "x"}}
	kept.Namespace, kept.Name = "operators", stuckName
	if err := c.Create(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	if got := c.noted(); got != nil {
		t.Errorf("%v", got)
	}
	store := stuckStore{c, c, "operators", logr.Discard()}
	for i := range 2 {
		if err := store.add(t.Context(), []converge.StuckObject{{Kind: "Redis", Namespace: "shop", Name: fmt.Sprint(i),
			LastSeen: time.Now()}}); err != nil {
			t.Fatal(err)
		}
	}
	if got := c.noted(); len(got) != 2 {
		t.Errorf("%v", got)
	}
	refused := errors.New("no")
	failing := interceptor.NewClient(c.WithWatch,
		interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return refused
		}})
	if err := (stuckStore{failing, failing, "operators", logr.Discard()}).add(t.Context(), c.noted()); !errors.Is(err, refused) {
		t.Errorf("what could not be read would be lost: %v", err)
	}
}
