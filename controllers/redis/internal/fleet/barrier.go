package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
)

// catchUpTimeout is how long one act waits for a replica that must reach an offset.
const catchUpTimeout = 500 * time.Millisecond

// barrier waits until each of these members has all that the master has written by now, and
// returns the offset up to which that is.
func (f *Fleet) barrier(ctx context.Context, members []cachev1alpha1.RedisProcess) (int64, error) {
	now := f.masterServer().Look(ctx)
	if !now.Master || now.ReplID != f.Redis.Status.Replication.ReplID {
		return 0, errors.New("the master does not answer as the one of the history that is recorded")
	}
	for _, process := range members {
		if err := f.awaitOffset(ctx, process.Name, now.ReplID, now.Offset); err != nil {
			return 0, behindError{process.Name, err}
		}
	}
	return now.Offset, nil
}

// behindError is the error of a replica that has not yet received what the master had written.
type behindError struct {
	name string
	why  error
}

func (b behindError) Error() string { return b.name + ": " + b.why.Error() }

// awaitOffset waits until the node's server has the history up to the offset.
func (f *Fleet) awaitOffset(ctx context.Context, name, replID string, offset int64) error {
	server := f.servers[name]
	if server == nil {
		return errors.New("has no address")
	}
	ctx, cancel := context.WithTimeout(ctx, catchUpTimeout)
	defer cancel()
	for {
		if now := server.Look(ctx); now.ReplID == replID && now.Offset >= offset {
			return nil
		}
		if f.effects.AwaitRetry(ctx) != nil {
			return fmt.Errorf("did not catch up within %s", catchUpTimeout)
		}
	}
}
