// Package command bounds what an operator does to servers, so that no two operators command them at once.
package command

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/panics"
)

// ActLimit bounds a whole act. It is shorter than the time from when a lease is too old to act under until another process may start
// (5 s). So a process that was stopped in the middle of an act finds, when it wakes, that its time is over: it sends no command when
// another may lead already.
const ActLimit = 3 * time.Second

// ErrNotLeading is the error of a process that was stopped and wakes, until the leader election ends it.
var ErrNotLeading = errors.New("the lease was not renewed in time: another may lead")

// AsLeader runs act within ActLimit, and only while this process leads; otherwise it returns ErrNotLeading. An isLeader of nil says
// that there is no other process.
func AsLeader(ctx context.Context, isLeader func() bool, act func(context.Context) error) error {
	ctx, done := context.WithTimeout(ctx, ActLimit) // first: it runs on while this process is stopped
	defer done()
	if isLeader != nil && !isLeader() {
		return ErrNotLeading
	}
	return act(ctx)
}

// All runs all functions at once and returns when they have ended. A panic ends only the function that it is in; doing names the
// work in the log and in the metric's label; it is one of a closed set of phrases.
func All(ctx context.Context, doing string, all []func()) {
	var running sync.WaitGroup
	for _, run := range all {
		running.Go(func() {
			_ = panics.Recover(ctx, doing, func() error { run(); return nil }) // it is logged, and what was not done is not done
		})
	}
	running.Wait()
}
