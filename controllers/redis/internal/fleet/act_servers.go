package fleet

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

func (f *Fleet) doFence(ctx context.Context, s topology.Step) error {
	return forEach(s.NodeNames, func(name string) error { return f.servers[name].Fence(ctx) })
}

func (f *Fleet) doDisconnectClients(ctx context.Context, s topology.Step) error {
	return forEach(s.NodeNames, func(name string) error {
		return errors.Join(f.servers[name].KillClients(ctx), f.servers[name].Unpause(ctx))
	})
}

func (f *Fleet) doServeStaleReads(ctx context.Context, s topology.Step) error {
	return forEach(s.NodeNames, func(name string) error { return f.servers[name].ServeStale(ctx) })
}

func (f *Fleet) doDeletePod(ctx context.Context, s topology.Step) error {
	return f.effects.DeletePod(ctx, s.NodeNames[0])
}

func (f *Fleet) doDeleteSilentPod(ctx context.Context, s topology.Step) error {
	return f.effects.DeletePod(ctx, s.NodeNames[0], ctrlclient.GracePeriodSeconds(1))
}

// doDismissRequest takes the switchover's annotation off, and reports an event if the request was refused.
func (f *Fleet) doDismissRequest(ctx context.Context, s topology.Step) error {
	next := f.Redis.DeepCopy()
	delete(next.Annotations, cachev1alpha1.RedisSwitchover)
	// Of the object that was looked at: a newer wish stands.
	patch := ctrlclient.MergeFromWithOptions(f.Redis, ctrlclient.MergeFromWithOptimisticLock{})
	if err := f.operator.Patch(ctx, next, patch, ctrlclient.FieldOwner(converge.FieldManager)); err != nil {
		return ctrlclient.IgnoreNotFound(err)
	}
	if s.Message != "" {
		f.operator.Events.Eventf(f.Redis, nil, corev1.EventTypeWarning, commonv1.ReasonSwitchoverRefused, "Switchover", "%s", s.Message)
	}
	return nil
}

// forEach calls do for each name, also after one has failed, and joins the errors.
func forEach(names []string, do func(string) error) error {
	var errs []error
	for _, name := range names {
		if err := do(name); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
