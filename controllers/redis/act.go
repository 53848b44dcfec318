package redis

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

// act performs one step. What a failover must know is saved before the command
// that makes it true.
func (r *Reconciler) act(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, s topology.Step) error {
	switch s.Do {
	case topology.Fence:
		return forEach(s.NodeNames, func(name string) error { return f.servers[name].Fence(ctx) })
	case topology.Promote, topology.SwitchOver, topology.StepDown:
		return r.changeMaster(ctx, redis, f, s)
	case topology.RecordMaster:
		return r.doRecordMaster(ctx, redis, f, s)
	case topology.AttachReplicas:
		return r.doAttachReplicas(ctx, redis, f, s.NodeNames)
	case topology.RemoveMembers:
		return r.doRemoveMembers(ctx, redis, f, s.NodeNames)
	case topology.SetMinReplicas:
		return doSetMinReplicas(ctx, redis, f, s.MinReplicas)
	case topology.DisconnectClients:
		return forEach(s.NodeNames, func(name string) error {
			return errors.Join(f.servers[name].KillClients(ctx), f.servers[name].Unpause(ctx))
		})
	case topology.EndMastership, topology.StampVolumes:
		return stampOrEndMastership(ctx, redis, f, s)
	case topology.SetPasswords, topology.ApplySettings, topology.SetPersistence, topology.LoadCertificates:
		return r.adaptNodes(ctx, redis, f, s)
	case topology.CreateRestorePod, topology.LoadBackup, topology.DeleteRestorePod:
		return r.restore(ctx, redis, f, s)
	case topology.DeletePod:
		return f.deletePod(ctx, s.NodeNames[0])
	case topology.DeleteSilentPod:
		return f.deletePod(ctx, s.NodeNames[0], ctrlclient.GracePeriodSeconds(1))
	case topology.ExpelUnrecorded:
		return r.doExpelUnrecorded(ctx, redis, f)
	case topology.ServeStaleReads:
		return forEach(s.NodeNames, func(name string) error { return f.servers[name].ServeStale(ctx) })
	case topology.DismissRequest:
		return r.removeSwitchoverRequest(ctx, redis, s)
	default:
		return nil
	}
}

// changeMaster carries out a step that moves the role of master. Each saves its intent first.
func (r *Reconciler) changeMaster(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, s topology.Step) error {
	switch s.Do {
	case topology.Promote:
		return r.doPromote(ctx, redis, f, s)
	case topology.SwitchOver:
		return r.doSwitchOver(ctx, redis, f, s)
	default:
		return r.doStepDown(ctx, redis, f, s)
	}
}

// adaptNodes brings nodes to what the spec and the Secrets say. Their roles stay.
func (r *Reconciler) adaptNodes(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, s topology.Step) error {
	switch s.Do {
	case topology.SetPasswords:
		return r.doSetPasswords(ctx, redis, f, s.NodeNames)
	case topology.ApplySettings:
		return r.doApplySettings(ctx, redis, f, s.NodeNames)
	case topology.SetPersistence:
		return r.doSetPersistence(ctx, redis, f, s.NodeNames)
	default:
		return r.doLoadCertificates(ctx, redis, f, s.NodeNames)
	}
}

// removeSwitchoverRequest takes the switchover's annotation off, and reports an event if the request was refused.
func (r *Reconciler) removeSwitchoverRequest(ctx context.Context, redis *cachev1alpha1.Redis, s topology.Step) error {
	next := redis.DeepCopy()
	delete(next.Annotations, cachev1alpha1.RedisSwitchover)
	// Of the object that was looked at: a newer wish stands.
	patch := ctrlclient.MergeFromWithOptions(redis, ctrlclient.MergeFromWithOptimisticLock{})
	if err := r.Patch(ctx, next, patch, ctrlclient.FieldOwner(converge.FieldManager)); err != nil {
		return ctrlclient.IgnoreNotFound(err)
	}
	if s.Message != "" {
		r.Events.Eventf(redis, nil, corev1.EventTypeWarning, commonv1.ReasonSwitchoverRefused, "Switchover", "%s", s.Message)
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
