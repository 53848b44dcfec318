package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
)

// acts has what carries out each verb that acts.
var acts = map[membership.Verb]func(*Fleet, context.Context, membership.Step) error{
	membership.Form:                saved((*Fleet).recordForming),
	membership.ReuseVolumes:        (*Fleet).doReuseVolumes,
	membership.StartMember:         saved((*Fleet).recordStart),
	membership.RecordIDs:           saved((*Fleet).recordIDs),
	membership.AdoptMember:         saved((*Fleet).recordAsItRuns),
	membership.ForgetMember:        saved((*Fleet).recordLeave),
	membership.WithdrawChange:      saved((*Fleet).recordNoChange),
	membership.EndRecovery:         saved((*Fleet).recordNoChange),
	membership.Recover:             saved((*Fleet).recordRecovery),
	membership.RecordLogin:         saved((*Fleet).recordLogin),
	membership.LimitLog:            saved((*Fleet).recordLogLimit),
	membership.AddMember:           (*Fleet).doAdd,
	membership.RemoveMember:        (*Fleet).doRemove,
	membership.PromoteMember:       (*Fleet).doPromote,
	membership.MoveLeader:          (*Fleet).doMoveLeader,
	membership.DeletePod:           (*Fleet).doDeletePod,
	membership.EvictPod:            (*Fleet).doEvictPod,
	membership.AddRole:             (*Fleet).doAddRole,
	membership.SetUser:             (*Fleet).doSetUser,
	membership.DropUser:            (*Fleet).doDropUser,
	membership.RequireLogin:        (*Fleet).doRequireLogin,
	membership.Compact:             (*Fleet).doCompact,
	membership.Defragment:          (*Fleet).doDefragment,
	membership.Disarm:              (*Fleet).doDisarm,
	membership.WriteEntries:        (*Fleet).doWriteEntries,
	membership.SetVersion:          (*Fleet).doSetVersion,
	membership.CreateUpgradeBackup: (*Fleet).doCreateUpgradeBackup,
	membership.DeleteUpgradeBackup: (*Fleet).doDeleteUpgradeBackup,
	membership.CreateFetchPod:      (*Fleet).doCreateFetchPod,
	membership.DeleteFetchPod:      (*Fleet).doDeleteFetchPod,
	membership.StartRestore:        (*Fleet).doStartRestore,
	membership.EndRestore:          (*Fleet).doEndRestore,
}

// Act performs a step, if it acts. It stamps the claims first: nothing follows from a record that they do not have. If the time of ctx is
// over by then, it returns errTooLate, because what the step was planned from is too old. The caller makes sure that no other operator
// acts meanwhile.
func (f *Fleet) Act(ctx context.Context, s membership.Step) error {
	if s.Changes() || s.RemovesPod() {
		log.FromContext(ctx).Info("step", "do", s.Do, "member", s.Member, "target", s.Target, "version", s.Version, "message", s.Message)
	}
	if err := f.stampClaims(ctx); err != nil {
		return err
	}
	if !s.Acts() {
		return nil
	}
	if ctx.Err() != nil {
		return errTooLate
	}
	act, ok := acts[s.Do]
	if !ok {
		return fmt.Errorf("no act is known for %q", s.Do)
	}
	if s.TakesAway() {
		if err := f.Effects.Confirm(ctx); err != nil {
			return err
		}
	}
	return act(f, ctx, s)
}

// Outcome is what users are shown of a step, by the error that Act returned of it; with an error if it failed.
func Outcome(s membership.Step, err error) (membership.Step, error) {
	var blocked *EvictionBlockedError
	switch {
	case err == nil:
		return s, nil
	case isWaiting(err):
		return membership.Step{Do: membership.Wait, Message: err.Error(), RequeueAfter: waitTime(err)}, nil
	case errors.As(err, &blocked):
		return blocked.step(), nil
	}
	return s, fmt.Errorf("%s: %w", s.Phrase(), err)
}

// isWaiting reports whether an error only says that something must end by itself first.
func isWaiting(err error) bool {
	return errors.Is(err, wire.ErrLearnerBehind) || errors.Is(err, wire.ErrUnhealthy) || errors.Is(err, wire.ErrBusy) ||
		errors.Is(err, ErrNoDisruptionAllowed) || errors.Is(err, ErrWithdrawn) || errors.Is(err, ErrPodChanged) ||
		errors.Is(err, ErrClaimGoes) || errors.Is(err, errNotBackedUp) || errors.Is(err, errNoFormerMember) ||
		errors.Is(err, errClaimsChanged) || errors.Is(err, errTooLate)
}

// waitTime is how soon to try again what must wait.
func waitTime(err error) time.Duration {
	if errors.Is(err, ErrNoDisruptionAllowed) { // until a pod is ready; meanwhile only the API server is asked in vain
		return time.Second
	}
	return membership.ShortRequeue
}
