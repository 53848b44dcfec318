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

// acts has what carries out each verb that acts. What a failover must know is saved before the command
// that makes it true.
var acts = map[topology.Verb]func(*pass, context.Context, topology.Step) error{
	topology.Fence:             (*pass).doFence,
	topology.Promote:           (*pass).doPromote,
	topology.SwitchOver:        (*pass).doSwitchOver,
	topology.StepDown:          (*pass).doStepDown,
	topology.RecordMaster:      (*pass).doRecordMaster,
	topology.AttachReplicas:    (*pass).doAttachReplicas,
	topology.RemoveMembers:     (*pass).doRemoveMembers,
	topology.SetMinReplicas:    (*pass).doSetMinReplicas,
	topology.DisconnectClients: (*pass).doDisconnectClients,
	topology.SetPasswords:      (*pass).doSetPasswords,
	topology.ApplySettings:     (*pass).doApplySettings,
	topology.SetPersistence:    (*pass).doSetPersistence,
	topology.LoadCertificates:  (*pass).doLoadCertificates,
	topology.DeletePod:         (*pass).doDeletePod,
	topology.DeleteSilentPod:   (*pass).doDeleteSilentPod,
	topology.ExpelUnrecorded:   (*pass).doExpelUnrecorded,
	topology.ServeStaleReads:   (*pass).doServeStaleReads,
	topology.DismissRequest:    (*pass).doDismissRequest,
	topology.EndMastership:     (*pass).doEndMastership,
	topology.StampVolumes:      (*pass).doStampVolumes,
	topology.CreateRestorePod:  (*pass).doCreateRestorePod,
	topology.LoadBackup:        (*pass).doLoadBackup,
	topology.DeleteRestorePod:  (*pass).doDeleteRestorePod,
}

// do carries out one step, if it acts.
func (p *pass) do(ctx context.Context, s topology.Step) error {
	if !s.Traits().Acts {
		return nil
	}
	carryOut, ok := acts[s.Do]
	if !ok {
		return fmt.Errorf("no act is known for %q", s.Do)
	}
	return carryOut(p, ctx, s)
}

func (p *pass) doFence(ctx context.Context, s topology.Step) error {
	return forEach(s.NodeNames, func(name string) error { return p.servers[name].Fence(ctx) })
}

func (p *pass) doDisconnectClients(ctx context.Context, s topology.Step) error {
	return forEach(s.NodeNames, func(name string) error {
		return errors.Join(p.servers[name].KillClients(ctx), p.servers[name].Unpause(ctx))
	})
}

func (p *pass) doServeStaleReads(ctx context.Context, s topology.Step) error {
	return forEach(s.NodeNames, func(name string) error { return p.servers[name].ServeStale(ctx) })
}

func (p *pass) doDeletePod(ctx context.Context, s topology.Step) error {
	return p.deletePod(ctx, s.NodeNames[0])
}

func (p *pass) doDeleteSilentPod(ctx context.Context, s topology.Step) error {
	return p.deletePod(ctx, s.NodeNames[0], ctrlclient.GracePeriodSeconds(1))
}

// doDismissRequest takes the switchover's annotation off, and reports an event if the request was refused.
func (p *pass) doDismissRequest(ctx context.Context, s topology.Step) error {
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
