package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/command"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// maxRounds bounds the rounds of one pass. After a fence, and after others' connections were closed, the servers are looked
// at again and a new round starts. Four are enough for a take-over, two fences and a promotion; the rest waits for the next
// pass.
const maxRounds = 4

// commandLimit bounds all commands and further looks of one pass, so that a pass waits for its
// servers for lookLimit + commandLimit = 5.8 s at most, however many they are and whatever
// they do. Without it, three fences and the act after them could take four times command.ActLimit.
// A failover that fences first takes some 0.1 s; one that does not end in time continues in the
// next pass from where it stands.
const commandLimit = command.ActLimit + time.Second

// act carries the planned step out within commandLimit. While the object is paused, it does nothing.
func (p *pass) act(ctx context.Context) (err error) {
	if p.redis.Spec.Paused {
		return nil
	}
	ctx, done := context.WithTimeout(ctx, commandLimit)
	defer done()
	p.step, err = p.execute(ctx, p.step)
	return err
}

// execute carries the step out, and returns the step that it came to. A fence, and closing the connections of other
// operators, change only what the servers show: so they are looked at again and the next step is planned at once.
func (p *pass) execute(ctx context.Context, next topology.Step) (topology.Step, error) {
	for range maxRounds {
		acted, err := p.actAsLeader(ctx, next)
		switch {
		case errors.As(err, &behindError{}): // a replica lags: the next pass tries again
			return topology.Step{Do: topology.Wait, Message: fmt.Sprintf("%s: %s", next, err), RequeueAfter: 10 * topology.ShortRequeue}, nil
		case err != nil:
			return next, fmt.Errorf("%s: %w", next, err)
		case acted && next.Do != topology.Fence:
			return next, nil
		case acted && next.Reason != "":
			p.Events.Eventf(p.redis, nil, corev1.EventTypeWarning, next.Reason, "Fence", "%s took writes as well as the recorded master: fenced",
				strings.Join(next.NodeNames, ", "))
		}
		p.lookAgain(ctx)
		if err := ctx.Err(); err != nil { // a server without an answer may not have been asked
			return next, fmt.Errorf("%s: looking again: %w", next, err)
		}
		p.FencedFor = p.known.trackFenced(p.World, p.clock) // servers that were fenced just now count from this look on
		next = p.situation().Plan()
	}
	return topology.Step{Do: topology.Wait, Message: fmt.Sprintf("%s: the servers change all the time", next),
		RequeueAfter: topology.ShortRequeue}, nil
}

// actAsLeader acts within the limit of an act, and only while this process leads. acted is false if it only closed connections of
// other operators: these may have changed the servers since the look.
func (p *pass) actAsLeader(ctx context.Context, s topology.Step) (acted bool, err error) {
	err = command.AsLeader(ctx, p.IsLeader, func(ctx context.Context) error {
		acted, err = p.actInCharge(ctx, s)
		return err
	})
	return acted, err
}

// actInCharge acts, and takes over before if another operator was in charge.
func (p *pass) actInCharge(ctx context.Context, s topology.Step) (acted bool, err error) {
	if s.Traits().NeedsCharge && p.redis.Status.HolderIdentity != p.Identity {
		if err := p.takeOver(ctx); err != nil {
			return false, err
		}
	}
	if s.Traits().Acts && p.redis.Status.HolderIdentity == p.Identity {
		if p.killOtherOperators(ctx) {
			return false, nil
		}
		if err := p.checkUnchanged(ctx); err != nil {
			return false, err
		}
	}
	if s.Traits().Changes {
		log.FromContext(ctx).Info("step", "do", s.Do, "nodes", s.NodeNames, "reason", s.Reason, "message", s.Message, "evidence", s.Evidence)
	}
	return true, p.do(ctx, s)
}

// takeOver saves that this process is in charge of the object. A Redis server cannot decide which of two operators is in
// charge. Nor can an operator that was stopped: its clocks do not show for how long. Three rules keep both from commanding,
// whatever the clocks say:
//
//   - an operator that dials asks the API server after that, and before it commands a server, whether the object is unchanged;
//   - an operator that takes over changes the object first, and then closes the connections of all others;
//   - no connection is replaced by a new one between the question and the command.
//
// So an operator that was replaced asks too late, or what it has dialled is closed.
func (p *pass) takeOver(ctx context.Context) error {
	if err := p.checkStamps(ctx); err != nil { // a cache that was just filled may be older than the stamps
		return err
	}
	// Before the save, which may succeed although its reply is lost. Another operator has commanded the servers since, so
	// what they were sent no longer counts.
	p.known.forgetServers()
	for _, m := range p.addressable() {
		m.SentCommands = topology.SentCommands{}
	}
	former := p.redis.Status.HolderIdentity
	p.redis.Status.HolderIdentity = p.Identity
	if err := p.save(ctx); err != nil {
		p.redis.Status.HolderIdentity = former // or a later save of this pass takes over
		return err
	}
	if p.redis.Status.HolderIdentity != p.Identity {
		return errors.New("the API server does not keep status.holderIdentity: apply the CustomResourceDefinitions of this release")
	}
	return nil
}

// killOtherOperators closes the connections of every other operator at the servers where this one has not done so since
// it took over: this ends what an operator that was replaced has started there. Where it fails, the server counts as
// silent for the rest of the pass, and the others are not held up. It reports whether it tried at any server: then look again.
func (p *pass) killOtherOperators(ctx context.Context) (tried bool) {
	for _, m := range p.addressable() {
		if m.Answer != wire.Reached || m.OthersKilled {
			continue
		}
		tried = true
		if err := p.serverOf(m).KillOtherOperators(ctx); err != nil {
			log.FromContext(ctx).Info("connections of other operators could not be closed; the server counts as silent", "node", m.Name, "error",
				err.Error())
			m.OthersRemain = true
			continue
		}
		p.known.noteOthersKilled(m.RunID)
		m.OthersKilled = true
	}
	return tried
}
