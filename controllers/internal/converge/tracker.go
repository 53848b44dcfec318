package converge

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// stuckAfter is how long a pass must have run to count as one that will never end. Nothing that a pass waits for takes
// so long: a user's server has seconds, and the API server ends each request after a minute at most (kube-apiserver:
// --request-timeout), webhooks included, and a pass makes some ten requests one after the other.
const stuckAfter = 15 * time.Minute

// ReconcileTracker knows the passes that run now. One that is stuck holds its object, and a worker, until the process
// is started anew.
type ReconcileTracker struct {
	// Clock tells how long a pass has run.
	Clock clock.PassiveClock

	mu      sync.Mutex
	running map[*trackedReconcile]struct{}
}

type trackedReconcile struct {
	object  string // what the pass is over
	started time.Time
}

// Start notes a pass over what object names, until the caller calls end.
func (p *ReconcileTracker) Start(object string) (end func()) {
	if p == nil {
		return func() {}
	}
	one := &trackedReconcile{object, p.Clock.Now()}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		p.running = map[*trackedReconcile]struct{}{}
	}
	p.running[one] = struct{}{}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.running, one)
	}
}

// Stuck returns an error that names the pass that has run longest, if it will never end.
func (p *ReconcileTracker) Stuck() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var first *trackedReconcile
	for one := range p.running {
		if first == nil || one.started.Before(first.started) {
			first = one
		}
	}
	if first == nil {
		return nil
	}
	if took := p.Clock.Since(first.started); took > stuckAfter {
		return fmt.Errorf("a pass over %s has run for %s: it is stuck, and a new process must go on", first.object, took.Round(time.Second))
	}
	return nil
}
