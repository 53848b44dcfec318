package fault

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// writePause between two writes, by default.
	writePause = 5 * time.Millisecond
	// writeLimit of one write with its confirmation; whatever takes longer counts
	// as failed, though it may have been written.
	writeLimit = 250 * time.Millisecond

	// late and unconfirmed are the failures of writes for which the server or a replica took longer: a busy machine has them, too.
	late        = "no answer in time"
	unconfirmed = "no replica confirmed it in time"
)

// quiet drops the client library's own log: a writer counts its failures.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func init() { redis.SetLogger(quiet{}) }

// Writer writes numbered keys to a Redis, and goes over a fresh connection after
// each failure.
type Writer struct {
	dial     func() *redis.Client
	prefix   string
	confirms bool
	pause    time.Duration

	mu       sync.Mutex
	tried    int
	written  []int
	outage   Gap
	last     time.Time
	failures map[string]int
}

// Gap is a time without a successful write: between two that succeeded.
type Gap struct{ From, To time.Time }

// Length of the gap.
func (g Gap) Length() time.Duration { return g.To.Sub(g.From) }

// NewWriter makes a writer of keys that start with prefix, to which a write has
// succeeded when WAIT 1 confirms it. dial gives a client of one connection that
// repeats nothing.
func NewWriter(prefix string, dial func() *redis.Client) *Writer {
	return &Writer{dial: dial, prefix: prefix, confirms: true, pause: writePause, failures: map[string]int{}}
}

// NewPlainWriter makes one that takes the master's own word for a write.
func NewPlainWriter(prefix string, dial func() *redis.Client) *Writer {
	return &Writer{dial: dial, prefix: prefix, pause: writePause, failures: map[string]int{}}
}

// Every sets the pause between two writes, before Run. The default is 5 ms.
func (w *Writer) Every(pause time.Duration) *Writer {
	w.pause = pause
	return w
}

// Run writes until ctx ends.
func (w *Writer) Run(ctx context.Context) {
	client := w.dial()
	defer func() { _ = client.Close() }()
	tick := time.NewTicker(w.pause)
	defer tick.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		w.start(n)
		if err := w.write(ctx, client, n); err != nil {
			w.note(err)
			_ = client.Close()
			client = w.dial()
		} else {
			w.succeed(n)
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
	if err := conn.Set(ctx, w.key(n), n, 0).Err(); err != nil || !w.confirms {
		return err
	}
	copies, err := conn.Wait(ctx, 1, writeLimit).Result()
	if err == nil && copies < 1 {
		err = errors.New(unconfirmed)
	}
	return err
}

func (w *Writer) start(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tried = n + 1
}

func (w *Writer) succeed(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if gap := (Gap{w.last, now}); !w.last.IsZero() && gap.Length() > w.outage.Length() {
		w.outage = gap
	}
	w.last = now
	w.written = append(w.written, n)
}

func (w *Writer) note(err error) {
	words := err.Error()
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		words = late
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failures[words]++
}

// Written is how many writes have succeeded so far.
func (w *Writer) Written() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.written)
}

// Keys are those whose writes have succeeded so far.
func (w *Writer) Keys() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	keys := make([]string, 0, len(w.written))
	for _, n := range w.written {
		keys = append(keys, w.key(n))
	}
	return keys
}

// Attempted are the keys that were sent so far, whatever came of it.
func (w *Writer) Attempted() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	keys := make([]string, 0, w.tried)
	for n := range w.tried {
		keys = append(keys, w.key(n))
	}
	return keys
}

// Outage is the longest gap that has ended since it was last asked for.
func (w *Writer) Outage() Gap {
	w.mu.Lock()
	defer w.mu.Unlock()
	longest := w.outage
	w.outage = Gap{}
	return longest
}

// Failures counts what went wrong, by its words.
func (w *Writer) Failures() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.failures)
}

// Refusals are the failures that a busy machine does not explain.
func (w *Writer) Refusals() map[string]int {
	failures := w.Failures()
	delete(failures, late)
	delete(failures, unconfirmed)
	return failures
}

// Forgive what has failed so far.
func (w *Writer) Forgive() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.failures)
}

// Lost reads back every write that has succeeded, from a master, and names those that
// are missing.
func (w *Writer) Lost(ctx context.Context) ([]string, error) {
	w.mu.Lock()
	numbers := slices.Clone(w.written)
	w.mu.Unlock()
	client := w.dial()
	defer func() { _ = client.Close() }()
	conn := client.Conn() // of which it is known where it leads
	defer func() { _ = conn.Close() }()
	text, err := conn.Info(ctx, "replication").Result()
	if err == nil && !parseInfo(text).Master {
		err = errors.New("it is a replica that answers")
	}
	if err != nil {
		return nil, fmt.Errorf("reading back: %w", err)
	}
	var lost []string
	for some := range slices.Chunk(numbers, 500) {
		keys := make([]string, 0, len(some))
		for _, n := range some {
			keys = append(keys, w.key(n))
		}
		values, err := conn.MGet(ctx, keys...).Result()
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
