package converge

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// stuckAfter is for how long a pass has run when it will never end. Nothing that a pass waits
// for takes so long: a server of a user's has seconds, and the API server ends each request
// after a minute at most (kube-apiserver: --request-timeout), webhooks included, of which a
// pass makes some ten one after the other.
const stuckAfter = 15 * time.Minute

// ReconcileTracker are those that run now. One that is stuck holds its object, and a worker, until the
// process is started anew.
type ReconcileTracker struct {
	// Clock tells how long a pass has run.
	Clock clock.PassiveClock

	mu      sync.Mutex
	running map[*trackedReconcile]struct{}
}

type trackedReconcile struct {
	object  string // the object
	started time.Time
}

// Start notes a pass over what is named, until the end that it gives is called.
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

// Stuck is the error of the pass that runs for the longest, if it will never end.
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
