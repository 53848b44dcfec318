package converge

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

const (
	// passTimeout ends the context of a pass. What a pass waits for takes no longer: a user's server has seconds, and the
	// API server ends each request after a minute at most (kube-apiserver: --request-timeout), webhooks included, and a
	// pass makes some ten requests one after the other. So a pass that waits for an API server ends by then, and
	// one that continues computes.
	passTimeout = 10 * time.Minute

	// unendingAfter is how long a pass must have run for its object to be noted, for the next leader: long enough after
	// the end of its context for what waits without one, the discovery of types, which takes a minute or two. It is noted
	// before stuckAfter, because the process ends then.
	unendingAfter = 14 * time.Minute

	// unendingSightings is how often the pass must have been seen beyond that, one after the other. All passes of a
	// process that was stopped for an hour are old when it wakes, and end at once.
	unendingSightings = 3

	// stuckAfter is how long a pass must have run to count as one that will never end.
	stuckAfter = 15 * time.Minute
)

// ReconcileTracker knows the passes that run now. One that is stuck holds its object, and a worker, until the process
// is restarted.
type ReconcileTracker struct {
	// Clock measures how long a pass has run.
	Clock clock.PassiveClock

	mu      sync.Mutex
	running map[*TrackedPass]struct{}
}

// TrackedPass is a pass that runs now; nil without a tracker.
type TrackedPass struct {
	tracker   *ReconcileTracker
	ctx       context.Context // whether it has ended says whether the pass should
	object    StuckObject     // what the pass is over
	started   time.Time
	sightings int // how often it was seen to run for too long
	noted     bool
}

// Start notes a pass over an object, until the caller calls End. The context is the pass's.
func (r *ReconcileTracker) Start(ctx context.Context, kind string, key types.NamespacedName) *TrackedPass {
	if r == nil {
		return nil
	}
	pass := &TrackedPass{tracker: r, ctx: ctx, object: StuckObject{Kind: kind, Namespace: key.Namespace, Name: key.Name},
		started: r.Clock.Now()}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running == nil {
		r.running = map[*TrackedPass]struct{}{}
	}
	r.running[pass] = struct{}{}
	return pass
}

// End notes that the pass has ended.
func (t *TrackedPass) End() {
	if t == nil {
		return
	}
	t.tracker.mu.Lock()
	defer t.tracker.mu.Unlock()
	delete(t.tracker.running, t)
}

// setObject notes which object the pass has read.
func (t *TrackedPass) setObject(read metav1.Object) {
	if t == nil {
		return
	}
	t.tracker.mu.Lock()
	defer t.tracker.mu.Unlock()
	t.object.UID, t.object.Generation = read.GetUID(), read.GetGeneration()
}

// Stuck returns an error that names the pass that has run longest, if it will never end.
func (r *ReconcileTracker) Stuck() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var first *TrackedPass
	for pass := range r.running {
		if first == nil || pass.started.Before(first.started) {
			first = pass
		}
	}
	if first == nil {
		return nil
	}
	if took := r.Clock.Since(first.started); took > stuckAfter {
		return fmt.Errorf("the reconciliation of %s has run for %s: it is stuck, and a new process must continue", first.object,
			took.Round(time.Second))
	}
	return nil
}

// ReportUnending calls report with the objects over which a pass does not end although its context has, if it was seen
// so in three calls. An object that was reported is not reported again, unless report fails. The caller calls it every
// ten seconds or so: the kubelet ends this process a minute or two after unendingAfter.
func (r *ReconcileTracker) ReportUnending(report func([]StuckObject) error) error {
	passes, objects := r.findUnending()
	if len(passes) == 0 {
		return nil
	}
	if err := report(objects); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, pass := range passes {
		pass.noted = true
	}
	return nil
}

func (r *ReconcileTracker) findUnending() (passes []*TrackedPass, objects []StuckObject) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.Clock.Now()
	for pass := range r.running {
		if pass.noted || pass.ctx.Err() == nil || now.Sub(pass.started) < unendingAfter {
			continue
		}
		if pass.sightings++; pass.sightings >= unendingSightings {
			seen := pass.object
			seen.LastSeen = now
			passes, objects = append(passes, pass), append(objects, seen)
		}
	}
	return passes, objects
}
