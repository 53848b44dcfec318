package main

import (
	"context"
	"fmt"
	"time"

	"github.com/mainstay-operator/mainstay-operator/hack/internal/wait"
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
func done(start time.Time, format string, args ...any) {
	fmt.Printf("%8.2fs  %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
}

// pollProgress calls check until it succeeds, as long as it makes progress.
func pollProgress(ctx context.Context, stall, limit time.Duration, check func(context.Context) error) error {
	return wait.WhileProgress(ctx, stall, limit, 200*time.Millisecond, check)
}

// poll calls check until it succeeds.
func poll(ctx context.Context, limit time.Duration, check func(context.Context) error) error {
	return wait.For(ctx, limit, 200*time.Millisecond, check)
}
