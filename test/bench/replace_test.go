package bench

import (
	"context"
	"errors"
	"time"

	"github.com/mainstay-operator/mainstay-operator/test/bench/figures"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

// replaceManagers measures how long an edit of one of all objects waits that is sent when the leader is killed, and how long one does
// that is sent when managers have just been started, after none ran. It returns those that run then.
func (b *bench) replaceManagers(ctx context.Context, k kind, namespace string, managers []manager, seen *observed,
	r *figures.Run) (fresh []manager, err error) {
	if r.TakeOver, err = b.editWaits(ctx, k, namespace, 1, seen, func() error {
		var errs []error
		for _, m := range managers {
			if m.leads {
				errs = append(errs, fault.Kill(m.pod, cluster.OperatorProgram))
			}
		}
		return errors.Join(errs...)
	}); err != nil {
		return nil, err
	}
	if _, err := b.managersOnceOneLeads(ctx); err != nil {
		return nil, err
	}
	if err := b.dismissOperator(ctx); err != nil {
		return nil, err
	}
	if r.Restart, err = b.editWaits(ctx, k, namespace, 2, seen, b.recall); err != nil {
		return nil, err
	}
	return b.managersOnceOneLeads(ctx)
}

// editWaits returns how long it takes from then on until the nth object, which is edited at that time, is Ready again.
func (b *bench) editWaits(ctx context.Context, k kind, namespace string, n int, seen *observed, then func() error) (time.Duration, error) {
	started := time.Now()
	if err := then(); err != nil {
		return 0, err
	}
	if err := b.k8s.Patch(ctx, b.nthObject(k, namespace, n), shrink); err != nil {
		return 0, err
	}
	err := poll(ctx, timeout, func(context.Context) error { return seen.isReady(n, 3) })
	return time.Since(started), err
}
