package redis

import (
	"context"
	"time"

	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// scripted effects do what a test says, else nothing.
type scripted struct {
	onSave   func() error
	changed  error // since it was read
	stamped  error // since they were read
	onStamp  func(node string, s topology.Stamp) error
	onRemove func(name string)
	onSource func(wanted bool) // the pod that serves a backup is made, or deleted
}

func (e scripted) save(context.Context) error {
	if e.onSave == nil {
		return nil
	}
	return e.onSave()
}

func (e scripted) checkUnchanged(context.Context) error { return e.changed }

func (e scripted) checkStamps(context.Context) error { return e.stamped }

func (e scripted) writeStamp(_ context.Context, node string, s topology.Stamp) error {
	if e.onStamp == nil {
		return nil
	}
	return e.onStamp(node, s)
}

func (e scripted) deletePod(_ context.Context, name string, _ ...ctrlclient.DeleteOption) error {
	if e.onRemove != nil {
		e.onRemove(name)
	}
	return nil
}

func (e scripted) createSource(context.Context) error { return e.setSource(true) }

func (e scripted) deleteSource(context.Context) error { return e.setSource(false) }

func (e scripted) setSource(wanted bool) error {
	if e.onSource != nil {
		e.onSource(wanted)
	}
	return nil
}

func (scripted) route(context.Context) (bool, error) { return true, nil }

func (scripted) runAll(_ context.Context, all []func()) {
	for _, one := range all {
		one()
	}
}

func (scripted) awaitRetry(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(retryInterval):
		return nil
	}
}
