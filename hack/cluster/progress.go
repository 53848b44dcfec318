package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// step is one line of progress: what is done, and how long it took. Progress
// goes to standard error: what a command prints may be the input of another.
type step struct {
	name string
	do   func(context.Context) error
}

func runSteps(ctx context.Context, steps []step) error {
	for _, s := range steps {
		start := time.Now()
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Fprintf(os.Stderr, "%8.2fs  %s\n", time.Since(start).Seconds(), s.name)
	}
	return nil
}

// together runs all at once, and returns once all have ended. The first failure, which it returns, ends the others.
func together(ctx context.Context, all ...func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for _, do := range all {
		running.Go(func() {
			if err := do(ctx); err != nil {
				cancel(err) // the first one stays
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

// note adds a line below the step that is running.
func note(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "           · "+format+"\n", args...)
}

// output runs a command and returns what it prints; an error carries the
// command and what it had to say.
func output(ctx context.Context, name string, args ...string) (string, error) {
	return outputWithInput(ctx, "", name, args...)
}

func outputWithInput(ctx context.Context, input, name string, args ...string) (string, error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr, cmd.Env = &out, &errs, environment()
	if input != "" {
		cmd.Stdin = strings.NewReader(input)
	}
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, lastLines(errs.String(), 10))
	}
	return out.String(), nil
}

// show runs a command whose output is worth watching.
func show(ctx context.Context, dir string, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = dir, os.Stderr, os.Stderr, append(environment(), env...)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return nil
}

// environment is this process's own, for programs whose words are read and who
// must ask nothing.
func environment() []string {
	return append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
}

func lastLines(text string, count int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > count {
		lines = lines[len(lines)-count:]
	}
	return strings.Join(lines, "\n")
}
