package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
)

const (
	// paceOfWrites is how many a paced writer starts each second.
	paceOfWrites = 200
	// pacedWriters write at once: one that waits holds no other back.
	pacedWriters = 16
	// pacedLimit of one write, which is tried again after pacedRetry.
	pacedLimit, pacedRetry = time.Minute, 100 * time.Millisecond
)

// paced writes at a pace, whatever the answers, until the spec ends.
type paced struct {
	mu       sync.Mutex
	times    []time.Duration
	failures []string
}

// pacing starts to write.
func pacing(ctx context.Context, write func(ctx context.Context, n int) error) *paced {
	w, due := &paced{}, make(chan time.Time)
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	var writing sync.WaitGroup
	DeferCleanup(func() { stop(); writing.Wait() })
	for worker := range pacedWriters {
		writing.Go(func() {
			for n := worker; ; n += pacedWriters {
				select {
				case <-run.Done():
					return
				case at := <-due:
					w.retryWrite(run, at, func(ctx context.Context) error { return write(ctx, n) })
				}
			}
		})
	}
	writing.Go(func() {
		for at := time.Now(); ; at = at.Add(time.Second / paceOfWrites) {
			select {
			case <-run.Done():
				return
			case <-time.After(time.Until(at)):
			}
			select {
			case <-run.Done():
				return
			case due <- at: // late ones make up for it: how long they waited counts
			}
		}
	})
	return w
}

// retryWrite tries a write until it is confirmed or the limit has passed, and notes how long that took since it was due.
func (p *paced) retryWrite(ctx context.Context, due time.Time, write func(context.Context) error) {
	limited, done := context.WithTimeout(ctx, pacedLimit)
	defer done()
	err := write(limited)
	for err != nil && limited.Err() == nil { // as an application does: what it waits counts
		select {
		case <-limited.Done():
		case <-time.After(pacedRetry):
			err = write(limited)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		p.times = append(p.times, time.Since(due))
	case ctx.Err() == nil: // or the spec has ended
		p.failures = append(p.failures, fmt.Sprintf("%s: %v", time.Now().Format(time.StampMilli), err))
	}
}

// count is how many were written since take.
func (p *paced) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.times)
}

// failed are the writes that were, since the start.
func (p *paced) failed() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.failures)
}

// take gives how long each write since the last take took, from when it was due, sorted.
func (p *paced) take() []time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := p.times
	p.times = nil
	slices.Sort(taken)
	return taken
}

// quantile of sorted durations, of which there is one at least.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
