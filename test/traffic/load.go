package traffic

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	// requestTimeout is how long a request of a load may take.
	requestTimeout = 5 * time.Second
	// longest that a load lasts unless it is stopped.
	longest = 2 * time.Minute
)

// Load asks for a path at a constant rate, whatever the answers: each request over a
// connection of its own.
type Load struct {
	stop    context.CancelFunc
	ended   chan struct{}
	mu      sync.Mutex
	summary Summary
}

// Summary of a load.
type Summary struct {
	Requests, Failed int
	Slowest, Lasted  time.Duration
	// First failures, of which there may be more.
	First []string
}

// StartLoad of so many requests per second.
func StartLoad(network Network, to Service, path string, rate int) *Load {
	ctx, stop := context.WithTimeout(context.Background(), longest)
	l := &Load{stop: stop, ended: make(chan struct{})}
	go l.run(ctx, network, to, path, rate)
	return l
}

// Stop starts no more requests, waits for those under way and sums up.
func (l *Load) Stop() Summary {
	l.stop()
	<-l.ended
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.summary
}

func (l *Load) run(ctx context.Context, network Network, to Service, path string, rate int) {
	defer close(l.ended)
	start, tick := time.Now(), time.NewTicker(time.Second/time.Duration(rate))
	defer tick.Stop()
	var under sync.WaitGroup
	defer under.Wait()
	for sent := 0; ctx.Err() == nil; {
		// A tick that came late makes up for those that were missed.
		for due := int(time.Since(start).Seconds() * float64(rate)); sent < due; sent++ {
			under.Go(func() { l.ask(network, to, path) })
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.summary.Lasted = time.Since(start)
}

func (l *Load) ask(network Network, to Service, path string) {
	ctx, enough := context.WithTimeout(context.Background(), requestTimeout)
	defer enough()
	start := time.Now()
	answer, err := Get(ctx, network, to, path)
	if err == nil && answer.Code != http.StatusOK {
		err = fmt.Errorf("%s from %s", answer.Status, answer.From)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.summary.Requests++
	l.summary.Slowest = max(l.summary.Slowest, time.Since(start))
	if err == nil {
		return
	}
	if l.summary.Failed++; len(l.summary.First) < 5 {
		l.summary.First = append(l.summary.First, fmt.Sprintf("%s: %v", start.Format(time.StampMilli), err))
	}
}
