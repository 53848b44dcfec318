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
	// Clock tells how long a pass has run.
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
func (p *ReconcileTracker) Start(ctx context.Context, kind string, key types.NamespacedName) *TrackedPass {
	if p == nil {
		return nil
	}
	one := &TrackedPass{tracker: p, ctx: ctx, object: StuckObject{Kind: kind, Namespace: key.Namespace, Name: key.Name}, started: p.Clock.Now()}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		p.running = map[*TrackedPass]struct{}{}
	}
	p.running[one] = struct{}{}
	return one
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
func (p *ReconcileTracker) Stuck() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var first *TrackedPass
	for one := range p.running {
		if first == nil || one.started.Before(first.started) {
			first = one
		}
	}
	if first == nil {
		return nil
	}
	if took := p.Clock.Since(first.started); took > stuckAfter {
		return fmt.Errorf("the reconciliation of %s has run for %s: it is stuck, and a new process must continue", first.object, took.Round(time.Second))
	}
	return nil
}

// ReportUnending calls report with the objects over which a pass does not end although its context has, if it was seen
// so in three calls. An object that was reported is not reported again, unless report fails. The caller calls it every
// ten seconds or so: the kubelet ends this process a minute or two after unendingAfter.
func (p *ReconcileTracker) ReportUnending(report func([]StuckObject) error) error {
	passes, objects := p.findUnending()
	if len(passes) == 0 {
		return nil
	}
	if err := report(objects); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range passes {
		one.noted = true
	}
	return nil
}

func (p *ReconcileTracker) findUnending() (passes []*TrackedPass, objects []StuckObject) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.Clock.Now()
	for one := range p.running {
		if one.noted || one.ctx.Err() == nil || now.Sub(one.started) < unendingAfter {
			continue
		}
		if one.sightings++; one.sightings >= unendingSightings {
			seen := one.object
			seen.LastSeen = now
			passes, objects = append(passes, one), append(objects, seen)
		}
	}
	return passes, objects
}
