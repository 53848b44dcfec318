package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
)

// patience with a replica that must reach an offset, in one act.
const patience = 500 * time.Millisecond

// barrier returns when all that the master has written by now is with each of
// these members.
func barrier(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, members []cachev1alpha1.RedisProcess) error {
	now := f.recorded(redis).Look(ctx)
	if !now.Master {
		return errors.New("the master does not answer as one")
	}
	for _, p := range members {
		if err := reach(ctx, f.servers[p.Name], now.ReplID, now.Offset); err != nil {
			return behindError{p.Name, err}
		}
	}
	return nil
}

// behindError is of a replica that has not taken in what the master had written.
type behindError struct {
	name string
	why  error
}

func (e behindError) Error() string { return e.name + ": " + e.why.Error() }

// reach returns when the server has the history up to the offset.
func reach(ctx context.Context, s server, replID string, offset int64) error {
	if s == nil {
		return errors.New("has no address")
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		if now := s.Look(ctx); now.ReplID == replID && now.Offset >= offset {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	return fmt.Errorf("did not catch up within %s", patience)
}
