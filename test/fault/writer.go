package fault

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// writePause between two writes.
	writePause = 2 * time.Millisecond
	// writeLimit of one write with its confirmation; whatever takes longer counts
	// as failed, though it may have been written.
	writeLimit = 250 * time.Millisecond
)

// quiet drops the client library's own log: a writer counts its failures.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func init() { redis.SetLogger(quiet{}) }

// Writer writes numbered keys to a Redis as an application does that wants its
// writes safe: each is confirmed by WAIT 1, and after a failure the next goes
// over a fresh connection.
type Writer struct {
	dial   func() *redis.Client
	prefix string

	mu        sync.Mutex
	confirmed []int
	outages   []time.Duration
	last      time.Time
	failures  map[string]int
}

// NewWriter makes a writer whose keys begin with prefix. dial gives a client of
// one connection that repeats nothing.
func NewWriter(prefix string, dial func() *redis.Client) *Writer {
	return &Writer{dial: dial, prefix: prefix, failures: map[string]int{}}
}

// Run writes until ctx ends.
func (w *Writer) Run(ctx context.Context) {
	client := w.dial()
	defer func() { _ = client.Close() }()
	tick := time.NewTicker(writePause)
	defer tick.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		if err := w.write(ctx, client, n); err != nil {
			w.note(err)
			_ = client.Close()
			client = w.dial()
		} else {
			w.confirm(n)
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

func (w *Writer) key(n int) string { return w.prefix + strconv.Itoa(n) }

func (w *Writer) write(ctx context.Context, client *redis.Client, n int) error {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	// One connection: WAIT speaks of the writes of its own.
	conn := client.Conn()
	defer func() { _ = conn.Close() }()
	if err := conn.Set(ctx, w.key(n), n, 0).Err(); err != nil {
		return err
	}
	copies, err := conn.Wait(ctx, 1, writeLimit).Result()
	if err == nil && copies < 1 {
		err = fmt.Errorf("WAIT counted %d", copies)
	}
	return err
}

func (w *Writer) confirm(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if gap := now.Sub(w.last); !w.last.IsZero() && gap > 20*writePause {
		w.outages = append(w.outages, gap)
	}
	w.last = now
	w.confirmed = append(w.confirmed, n)
}

func (w *Writer) note(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failures[err.Error()]++
}

// Confirmed is how many writes were confirmed so far.
func (w *Writer) Confirmed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.confirmed)
}

// Outage is the longest time without a confirmed write since it was last asked.
func (w *Writer) Outage() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	longest := time.Duration(0)
	if len(w.outages) > 0 {
		longest = slices.Max(w.outages)
	}
	w.outages = nil
	return longest
}

// Failures counts what went wrong, by its words.
func (w *Writer) Failures() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failures
}

// Lost reads every confirmed write back and names those that are missing.
func (w *Writer) Lost(ctx context.Context) ([]string, error) {
	w.mu.Lock()
	numbers := slices.Clone(w.confirmed)
	w.mu.Unlock()
	client := w.dial()
	defer func() { _ = client.Close() }()
	var lost []string
	for some := range slices.Chunk(numbers, 500) {
		keys := make([]string, 0, len(some))
		for _, n := range some {
			keys = append(keys, w.key(n))
		}
		values, err := client.MGet(ctx, keys...).Result()
		if err != nil {
			return nil, fmt.Errorf("reading back: %w", err)
		}
		for i, value := range values {
			if value != strconv.Itoa(some[i]) {
				lost = append(lost, keys[i])
			}
		}
	}
	return lost, nil
}
