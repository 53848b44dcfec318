package fleet

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

func (s scripted) Save(context.Context) error {
	if s.onSave == nil {
		return nil
	}
	return s.onSave()
}

func (s scripted) CheckUnchanged(context.Context) error { return s.changed }

func (s scripted) CheckStamps(context.Context) error { return s.stamped }

func (s scripted) WriteStamp(_ context.Context, node string, stamp topology.Stamp) error {
	if s.onStamp == nil {
		return nil
	}
	return s.onStamp(node, stamp)
}

func (s scripted) DeletePod(_ context.Context, name string, _ ...ctrlclient.DeleteOption) error {
	if s.onRemove != nil {
		s.onRemove(name)
	}
	return nil
}

func (s scripted) CreateSource(context.Context) error { return s.setSource(true) }

func (s scripted) DeleteSource(context.Context) error { return s.setSource(false) }

func (s scripted) setSource(wanted bool) error {
	if s.onSource != nil {
		s.onSource(wanted)
	}
	return nil
}

func (scripted) RunAll(_ context.Context, all []func()) {
	for _, run := range all {
		run()
	}
}

func (scripted) AwaitRetry(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(RetryInterval):
		return nil
	}
}
