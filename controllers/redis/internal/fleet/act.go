package fleet

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

// Act carries the planned step out within commandLimit, and returns the step that it came to: another when the servers have
// changed. While the object is paused, it does nothing.
func (f *Fleet) Act(ctx context.Context, planned topology.Step) (topology.Step, error) {
	if f.Redis.Spec.Paused {
		return planned, nil
	}
	ctx, done := context.WithTimeout(ctx, commandLimit)
	defer done()
	return f.execute(ctx, planned)
}

// execute carries the step out, and returns the step that it came to. A fence, and closing the connections of other
// operators, change only what the servers show: so they are looked at again and the next step is planned at once.
func (f *Fleet) execute(ctx context.Context, next topology.Step) (topology.Step, error) {
	for range maxRounds {
		acted, err := f.actAsLeader(ctx, next)
		switch {
		case errors.As(err, &behindError{}): // a replica lags: the next pass tries again
			return topology.Step{Do: topology.Wait, Message: fmt.Sprintf("%s: %s", next, err), RequeueAfter: 10 * topology.ShortRequeue}, nil
		case err != nil:
			return next, fmt.Errorf("%s: %w", next, err)
		case acted && next.Do != topology.Fence:
			return next, nil
		case acted && next.Reason != "":
			f.operator.Events.Eventf(f.Redis, nil, corev1.EventTypeWarning, next.Reason, "Fence",
				"%s took writes as well as the recorded master: fenced", strings.Join(next.NodeNames, ", "))
		}
		f.lookAgain(ctx)
		if err := ctx.Err(); err != nil { // a server without an answer may not have been asked
			return next, fmt.Errorf("%s: looking again: %w", next, err)
		}
		f.FencedFor = f.memory.trackFenced(f.World, f.operator.Clock) // servers that were fenced just now count from this look on
		next = f.Situation().Plan()
	}
	return topology.Step{Do: topology.Wait, Message: fmt.Sprintf("%s: the servers change all the time", next),
		RequeueAfter: topology.ShortRequeue}, nil
}

// actAsLeader acts within the limit of an act, and only while this process leads. acted is false if it only closed connections of
// other operators: these may have changed the servers since the look.
func (f *Fleet) actAsLeader(ctx context.Context, s topology.Step) (acted bool, err error) {
	err = command.AsLeader(ctx, f.operator.IsLeader, func(ctx context.Context) error {
		acted, err = f.actInCharge(ctx, s)
		return err
	})
	return acted, err
}

// actInCharge acts, and takes over before if another operator was in charge.
func (f *Fleet) actInCharge(ctx context.Context, s topology.Step) (acted bool, err error) {
	if s.Traits().NeedsCharge && f.Redis.Status.HolderIdentity != f.operator.Identity {
		if err := f.takeOver(ctx); err != nil {
			return false, err
		}
	}
	if s.Traits().Acts && f.Redis.Status.HolderIdentity == f.operator.Identity {
		if f.killOtherOperators(ctx) {
			return false, nil
		}
		if err := f.effects.CheckUnchanged(ctx); err != nil {
			return false, err
		}
	}
	if s.Traits().Changes {
		log.FromContext(ctx).Info("step", "do", s.Do, "nodes", s.NodeNames, "reason", s.Reason, "message", s.Message, "evidence", s.Evidence)
	}
	return true, f.do(ctx, s)
}

// acts has what carries out each verb that acts. What a failover must know is saved before the command
// that makes it true.
var acts = map[topology.Verb]func(*Fleet, context.Context, topology.Step) error{
	topology.Fence:             (*Fleet).doFence,
	topology.Promote:           (*Fleet).doPromote,
	topology.SwitchOver:        (*Fleet).doSwitchOver,
	topology.StepDown:          (*Fleet).doStepDown,
	topology.RecordMaster:      (*Fleet).doRecordMaster,
	topology.AttachReplicas:    (*Fleet).doAttachReplicas,
	topology.RemoveMembers:     (*Fleet).doRemoveMembers,
	topology.SetMinReplicas:    (*Fleet).doSetMinReplicas,
	topology.DisconnectClients: (*Fleet).doDisconnectClients,
	topology.SetPasswords:      (*Fleet).doSetPasswords,
	topology.ApplySettings:     (*Fleet).doApplySettings,
	topology.SetPersistence:    (*Fleet).doSetPersistence,
	topology.LoadCertificates:  (*Fleet).doLoadCertificates,
	topology.DeletePod:         (*Fleet).doDeletePod,
	topology.DeleteSilentPod:   (*Fleet).doDeleteSilentPod,
	topology.ExpelUnrecorded:   (*Fleet).doExpelUnrecorded,
	topology.ServeStaleReads:   (*Fleet).doServeStaleReads,
	topology.DismissRequest:    (*Fleet).doDismissRequest,
	topology.EndMastership:     (*Fleet).doEndMastership,
	topology.StampVolumes:      (*Fleet).doStampVolumes,
	topology.CreateRestorePod:  (*Fleet).doCreateRestorePod,
	topology.LoadBackup:        (*Fleet).doLoadBackup,
	topology.DeleteRestorePod:  (*Fleet).doDeleteRestorePod,
}

// do carries out one step, if it acts.
func (f *Fleet) do(ctx context.Context, s topology.Step) error {
	if !s.Traits().Acts {
		return nil
	}
	carryOut, ok := acts[s.Do]
	if !ok {
		return fmt.Errorf("no act is known for %q", s.Do)
	}
	return carryOut(f, ctx, s)
}
