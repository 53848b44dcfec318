package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// step is a part of the demo that can fail by itself.
type step struct {
	name string
	do   func(context.Context) error
	// logs says where the cause of a failure can be read.
	logs func() []string
}

// failure names the step, its cause, and what to read.
type failure struct {
	step  string
	cause error
	look  []string
}

func (f failure) Error() string { return fmt.Sprintf("step %q failed: %v", f.step, f.cause) }

func (f failure) Unwrap() error { return f.cause }

func runSteps(ctx context.Context, steps ...step) error {
	for _, s := range steps {
		fmt.Printf("\n=== %s\n", s.name)
		if err := s.do(ctx); err != nil {
			return failure{step: s.name, cause: err, look: s.logs()}
		}
	}
	return nil
}

// done prints what has been done and how long it took.
func done(began time.Time, format string, args ...any) {
	fmt.Printf("%8.2fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
}

// final is the error of a check that can no longer succeed.
type final struct{ error }

// poll calls check until it succeeds, and gives its last error when the time is over.
func poll(ctx context.Context, limit time.Duration, check func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check(bounded)
		if err == nil {
			return nil
		}
		if end := (final{}); errors.As(err, &end) {
			return end.error
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-bounded.Done():
			return fmt.Errorf("not within %s: %w", limit, err)
		case <-tick.C:
		}
	}
}
