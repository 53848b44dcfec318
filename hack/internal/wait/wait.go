// Package wait waits for what others bring about.
package wait

import (
	"context"
	"errors"
	"fmt"
	"time"
)

type final struct{ error }

// Final is the error of a check that can no longer succeed.
func Final(cause error) error { return final{cause} }

// For calls check until it succeeds, and gives its last error when the time is over.
func For(ctx context.Context, limit, pause time.Duration, check func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(pause)
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

// WhileProgress calls check until it succeeds. It gives check's last error when the words of that have stayed the same for the time of
// stall, and when limit is over.
func WhileProgress(ctx context.Context, stall, limit, pause time.Duration, check func(context.Context) error) error {
	words, since := "", time.Now()
	return For(ctx, limit, pause, func(ctx context.Context) error {
		err := check(ctx)
		if err == nil || err.Error() != words {
			words, since = fmt.Sprint(err), time.Now()
			return err
		}
		if time.Since(since) >= stall {
			return Final(fmt.Errorf("no progress within %s: %w", stall, err))
		}
		return err
	})
}
