package redis

import (
	"context"
	"errors"
	"time"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// actLimit of a whole act. It is shorter than the time between a lease's being too
// old to act under and another's beginning (5 s): a process that was stopped in the
// middle of an act and wakes finds it over, before it sends a command that belongs
// to another by now.
const actLimit = 3 * time.Second

// errNotLeading is of a process that was stopped and wakes, for as long as it takes
// the leader election to end it.
var errNotLeading = errors.New("the lease was not renewed in time: another may lead")

// perform an act in time, and only while this process leads: unlike the API
// server, no server of ours can tell which of two operators is the elder.
func (r *Reconciler) perform(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, s step, save converge.Save) error {
	ctx, done := context.WithTimeout(ctx, actLimit) // first: it runs on while this process is stopped
	defer done()
	if r.Leads != nil && !r.Leads() {
		return errNotLeading
	}
	return r.act(ctx, redis, f, s, save)
}
