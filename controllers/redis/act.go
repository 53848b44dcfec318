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

// do performs one step. What a failover must know is saved before the command
// that makes it true.
func (p *pass) do(ctx context.Context, s topology.Step) error {
	switch s.Do {
	case topology.Fence:
		return forEach(s.NodeNames, func(name string) error { return p.servers[name].Fence(ctx) })
	case topology.Promote, topology.SwitchOver, topology.StepDown:
		return p.changeMaster(ctx, s)
	case topology.RecordMaster:
		return p.doRecordMaster(ctx, s)
	case topology.AttachReplicas:
		return p.doAttachReplicas(ctx, s.NodeNames)
	case topology.RemoveMembers:
		return p.doRemoveMembers(ctx, s.NodeNames)
	case topology.SetMinReplicas:
		return p.doSetMinReplicas(ctx, s.MinReplicas)
	case topology.DisconnectClients:
		return forEach(s.NodeNames, func(name string) error {
			return errors.Join(p.servers[name].KillClients(ctx), p.servers[name].Unpause(ctx))
		})
	case topology.EndMastership, topology.StampVolumes:
		return p.stampOrEndMastership(ctx, s)
	case topology.SetPasswords, topology.ApplySettings, topology.SetPersistence, topology.LoadCertificates:
		return p.adaptNodes(ctx, s)
	case topology.CreateRestorePod, topology.LoadBackup, topology.DeleteRestorePod:
		return p.restore(ctx, s)
	case topology.DeletePod:
		return p.deletePod(ctx, s.NodeNames[0])
	case topology.DeleteSilentPod:
		return p.deletePod(ctx, s.NodeNames[0], ctrlclient.GracePeriodSeconds(1))
	case topology.ExpelUnrecorded:
		return p.doExpelUnrecorded(ctx)
	case topology.ServeStaleReads:
		return forEach(s.NodeNames, func(name string) error { return p.servers[name].ServeStale(ctx) })
	case topology.DismissRequest:
		return p.removeSwitchoverRequest(ctx, s)
	default:
		return nil
	}
}

// changeMaster carries out a step that moves the role of master. Each saves its intent first.
func (p *pass) changeMaster(ctx context.Context, s topology.Step) error {
	switch s.Do {
	case topology.Promote:
		return p.doPromote(ctx, s)
	case topology.SwitchOver:
		return p.doSwitchOver(ctx, s)
	default:
		return p.doStepDown(ctx, s)
	}
}

// adaptNodes brings nodes to what the spec and the Secrets say. Their roles stay.
func (p *pass) adaptNodes(ctx context.Context, s topology.Step) error {
	switch s.Do {
	case topology.SetPasswords:
		return p.doSetPasswords(ctx, s.NodeNames)
	case topology.ApplySettings:
		return p.doApplySettings(ctx, s.NodeNames)
	case topology.SetPersistence:
		return p.doSetPersistence(ctx, s.NodeNames)
	default:
		return p.doLoadCertificates(ctx, s.NodeNames)
	}
}

// removeSwitchoverRequest takes the switchover's annotation off, and reports an event if the request was refused.
func (p *pass) removeSwitchoverRequest(ctx context.Context, s topology.Step) error {
	next := p.redis.DeepCopy()
	delete(next.Annotations, cachev1alpha1.RedisSwitchover)
	// Of the object that was looked at: a newer wish stands.
	patch := ctrlclient.MergeFromWithOptions(p.redis, ctrlclient.MergeFromWithOptimisticLock{})
	if err := p.Patch(ctx, next, patch, ctrlclient.FieldOwner(converge.FieldManager)); err != nil {
		return ctrlclient.IgnoreNotFound(err)
	}
	if s.Message != "" {
		p.Events.Eventf(p.redis, nil, corev1.EventTypeWarning, commonv1.ReasonSwitchoverRefused, "Switchover", "%s", s.Message)
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
