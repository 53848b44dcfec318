package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/node"
)

// actLimit bounds a whole act. It is shorter than the time from when a lease is too old
// to act under until another may begin (5 s): a process that was stopped in the middle
// of an act and wakes finds its time over before it sends a command, when another
// may lead already.
const actLimit = 3 * time.Second

// errNotLeading is the error of a process that was stopped and wakes, until the leader
// election ends it.
var errNotLeading = errors.New("the lease was not renewed in time: another may lead")

// maxFences bounds how often one pass may fence and look again.
const maxFences = 3

// commandLimit bounds all commands and further looks of one pass, so that a pass waits for its
// servers for lookLimit + commandLimit = 4.8 s at most, however many they are and whatever
// they do. Without it, three fences and the act after them could take four times actLimit.
// A failover that fences first takes some 0.1 s; one that does not end in time goes on in the
// next pass from where it stands.
const commandLimit = actLimit + time.Second

// executeWithTimeout carries the step out within commandLimit.
func (r *Reconciler) executeWithTimeout(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, next step) (step, error) {
	ctx, done := context.WithTimeout(ctx, commandLimit)
	defer done()
	return r.execute(ctx, redis, f, next)
}

// execute carries the step out, and returns the step that it came to. A fence changes only
// what the servers show: so they are looked at again and the next step is planned at once.
func (r *Reconciler) execute(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, next step) (step, error) {
	for range maxFences {
		if next.do != fence {
			break
		}
		if err := r.actAsLeader(ctx, redis, f, next); err != nil {
			return next, fmt.Errorf("%s: %w", next, err)
		}
		if next.reason != "" {
			r.Events.Eventf(redis, nil, corev1.EventTypeWarning, next.reason, "Fence", "%s took writes beside the master of record: fenced",
				strings.Join(next.nodes, ", "))
		}
		f.lookAgain(ctx)
		if err := ctx.Err(); err != nil { // who was not heard then was not asked
			return next, fmt.Errorf("%s: looking again: %w", next, err)
		}
		f.frozenFor = r.memory.trackFrozen(redis, f.world, r.clock) // a freeze counts from now on
		next = plan(redis, f.world)
	}
	if next.changes() {
		log.FromContext(ctx).Info("step", "do", next.do, "nodes", next.nodes, "why", next.why, "evidence", next.evidence)
	}
	switch err := r.actAsLeader(ctx, redis, f, next); {
	case errors.As(err, &behindError{}): // nothing was done that the next pass would not mend
		return step{do: wait, why: fmt.Sprintf("%s: %s", next, err), requeueAfter: 10 * shortRequeue}, nil
	case err != nil:
		return next, fmt.Errorf("%s: %w", next, err)
	}
	return next, nil
}

// actAsLeader acts within actLimit, and only while this process leads: unlike the API
// server, a Redis server cannot tell which of two operators is the elder.
func (r *Reconciler) actAsLeader(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, s step) error {
	ctx, done := context.WithTimeout(ctx, actLimit) // first: it runs on while this process is stopped
	defer done()
	if r.IsLeader != nil && !r.IsLeader() {
		return errNotLeading
	}
	if err := r.killOtherOperators(ctx, redis, f); err != nil {
		return err
	}
	if err := r.verifyRecord(ctx, redis, f, s); err != nil {
		return err
	}
	return r.act(ctx, redis, f, s)
}

// verifyRecord asks the API server whether the cached record is current, once for each object and before the first
// act that uses its record: a cache that was just filled may be older than what the former leader wrote. From then
// on only this operator writes the record, and it acts on none that is older than its own last write.
func (r *Reconciler) verifyRecord(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, s step) error {
	if !s.usesRecord() || r.memory.isRecordVerified(redis) {
		return nil
	}
	if err := f.checkUnchanged(ctx); err != nil {
		return err
	}
	r.memory.noteRecordVerified(redis)
	return nil
}

// killOtherOperators closes the connections of every other operator at the servers where this one has not
// done so yet: this ends what an operator that was replaced as leader has begun there.
func (r *Reconciler) killOtherOperators(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet) error {
	var errs []error
	for _, m := range f.addressable() {
		if m.Answer != node.Reached || m.othersKilled {
			continue
		}
		if err := f.serverOf(m).KillOtherOperators(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m.name, err))
			continue
		}
		r.memory.noteCommand(redis, m.RunID, func(k *sentCommands) { k.othersKilled = true })
		m.othersKilled = true
	}
	return errors.Join(errs...)
}
