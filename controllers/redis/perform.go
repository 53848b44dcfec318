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
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// actLimit bounds a whole act. It is shorter than the time from when a lease is too old
// to act under until another may begin (5 s): a process that was stopped in the middle
// of an act and wakes finds its time over before it sends a command, when another
// may lead already.
const actLimit = 3 * time.Second

// errNotLeading is the error of a process that was stopped and wakes, until the leader
// election ends it.
var errNotLeading = errors.New("the lease was not renewed in time: another may lead")

// maxRounds bounds the rounds of one pass. After a fence, and after others' connections were closed, the servers are looked
// at again and a new round begins. Four are enough for a take-over, two fences and a promotion; the rest waits for the next
// pass.
const maxRounds = 4

// commandLimit bounds all commands and further looks of one pass, so that a pass waits for its
// servers for lookLimit + commandLimit = 5.8 s at most, however many they are and whatever
// they do. Without it, three fences and the act after them could take four times actLimit.
// A failover that fences first takes some 0.1 s; one that does not end in time goes on in the
// next pass from where it stands.
const commandLimit = actLimit + time.Second

// executeWithTimeout carries the step out within commandLimit.
func (r *Reconciler) executeWithTimeout(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, next topology.Step) (topology.Step, error) {
	ctx, done := context.WithTimeout(ctx, commandLimit)
	defer done()
	return r.execute(ctx, redis, f, next)
}

// execute carries the step out, and returns the step that it came to. A fence, and closing the connections of other
// operators, change only what the servers show: so they are looked at again and the next step is planned at once.
func (r *Reconciler) execute(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, next topology.Step) (topology.Step, error) {
	for range maxRounds {
		acted, err := r.actAsLeader(ctx, redis, f, next)
		switch {
		case errors.As(err, &behindError{}): // a replica lags: the next pass tries again
			return topology.Step{Do: topology.Wait, Message: fmt.Sprintf("%s: %s", next, err), RequeueAfter: 10 * topology.ShortRequeue}, nil
		case err != nil:
			return next, fmt.Errorf("%s: %w", next, err)
		case acted && next.Do != topology.Fence:
			return next, nil
		case acted && next.Reason != "":
			r.Events.Eventf(redis, nil, corev1.EventTypeWarning, next.Reason, "Fence", "%s took writes beside the master of record: fenced",
				strings.Join(next.NodeNames, ", "))
		}
		f.lookAgain(ctx)
		if err := ctx.Err(); err != nil { // a server without an answer may not have been asked
			return next, fmt.Errorf("%s: looking again: %w", next, err)
		}
		f.FencedFor = r.memory.trackFenced(redis, f.World, r.clock) // servers that were fenced just now count from this look on
		next = f.situation(redis).Plan()
	}
	return topology.Step{Do: topology.Wait, Message: fmt.Sprintf("%s: the servers change all the time", next), RequeueAfter: topology.ShortRequeue}, nil
}

// actAsLeader acts within actLimit, and only while this process leads. acted is false if it only closed connections of
// other operators: these may have changed the servers since the look.
func (r *Reconciler) actAsLeader(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, s topology.Step) (acted bool, err error) {
	ctx, done := context.WithTimeout(ctx, actLimit) // first: it runs on while this process is stopped
	defer done()
	if r.IsLeader != nil && !r.IsLeader() {
		return false, errNotLeading
	}
	if s.NeedsCharge() && redis.Status.HolderIdentity != r.Identity {
		if err := r.takeOver(ctx, redis, f); err != nil {
			return false, err
		}
	}
	if s.Acts() && redis.Status.HolderIdentity == r.Identity {
		if r.killOtherOperators(ctx, redis, f) {
			return false, nil
		}
		if err := f.checkUnchanged(ctx); err != nil {
			return false, err
		}
	}
	if s.Changes() {
		log.FromContext(ctx).Info("step", "do", s.Do, "nodes", s.NodeNames, "reason", s.Reason, "message", s.Message, "evidence", s.Evidence)
	}
	return true, r.act(ctx, redis, f, s)
}

// takeOver saves that this process is in charge of the object. A Redis server cannot tell which of two operators is in
// charge. Nor can an operator that was stopped: its clocks do not tell for how long. Three rules keep both from commanding,
// whatever the clocks say:
//
//   - whoever dials asks the API server after that, and before it commands a server, whether the object is unchanged;
//   - whoever takes over changes the object first, and then closes the connections of all others;
//   - no connection is made anew between the question and the command.
//
// So an operator that was replaced asks too late, or what it has dialled is closed.
func (r *Reconciler) takeOver(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet) error {
	if err := f.checkStamps(ctx); err != nil { // a cache that was just filled may be older than the stamps
		return err
	}
	// Before the save, which may succeed although its reply is lost. Another operator has commanded the servers since, so
	// what they were told no longer counts.
	r.memory.forgetServers(redis)
	for _, m := range f.addressable() {
		m.SentCommands = topology.SentCommands{}
	}
	former := redis.Status.HolderIdentity
	redis.Status.HolderIdentity = r.Identity
	if err := f.save(ctx); err != nil {
		redis.Status.HolderIdentity = former // or a later save of this pass takes over
		return err
	}
	if redis.Status.HolderIdentity != r.Identity {
		return errors.New("the API server does not keep status.holderIdentity: apply the CustomResourceDefinitions of this release")
	}
	return nil
}

// killOtherOperators closes the connections of every other operator at the servers where this one has not done so since
// it took over: this ends what an operator that was replaced has begun there. Where it fails, the server counts as
// silent for the rest of the pass, and the others are not held up. It reports whether it tried at any server: then look again.
func (r *Reconciler) killOtherOperators(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet) (tried bool) {
	for _, m := range f.addressable() {
		if m.Answer != wire.Reached || m.OthersKilled {
			continue
		}
		tried = true
		if err := f.serverOf(m).KillOtherOperators(ctx); err != nil {
			log.FromContext(ctx).Info("connections of other operators could not be closed; the server counts as silent", "node", m.Name, "error", err.Error())
			m.OthersRemain = true
			continue
		}
		r.memory.noteCommand(redis, m.RunID, func(k *topology.SentCommands) { k.OthersKilled = true })
		m.OthersKilled = true
	}
	return tried
}
