package redis

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/children"
)

// applyChildren writes all children; the Service among them follows the recorded master. If the API server refuses one of them,
// the Service is still pointed at the master. led reports whether the Service leads to the master.
func (p *pass) applyChildren(ctx context.Context) (led bool, err error) {
	p.observed, err = p.Converge(ctx, p.Redis, children.Desired(p.childInputs())...)
	if err == nil {
		return true, nil
	}
	led, alsoErr := p.applyRouteOnly(ctx)
	return led, errors.Join(err, alsoErr)
}

// applyRouteOnly points the existing Service at the master and changes nothing else, for when the API
// server refuses a child as the spec wants it. led reports whether the Service leads to the master.
func (p *pass) applyRouteOnly(ctx context.Context) (led bool, err error) {
	var service corev1.Service
	if err := p.Get(ctx, ctrlclient.ObjectKeyFromObject(p.Redis), &service); err != nil {
		return false, ctrlclient.IgnoreNotFound(err)
	}
	if p.Redis.Status.Master == "" || !metav1.IsControlledBy(&service, p.Redis) {
		return false, nil
	}
	if before := service.DeepCopy(); service.Spec.Selector[children.LabelPod] != p.Redis.Status.Master {
		if err := p.Confirm(ctx, p.Redis); err != nil { // an older record leads to a former master
			return false, err
		}
		service.Spec.Selector[children.LabelPod] = p.Redis.Status.Master
		patch := ctrlclient.MergeFromWithOptions(before, ctrlclient.MergeFromWithOptimisticLock{})
		if err := p.Patch(ctx, &service, patch, ctrlclient.FieldOwner(converge.FieldManager)); err != nil {
			return false, fmt.Errorf("leading clients to %s: %w", p.Redis.Status.Master, err)
		}
	}
	return true, nil
}

// reportMasterChange reports a change of the master, once the Service leads to the new one. Its endpoints are written by this operator or,
// if that fails, by kube-controller-manager.
func (p *pass) reportMasterChange(ctx context.Context) error {
	if !p.IsRouteNew() {
		return nil
	}
	if err := p.writeEndpoints(ctx); err != nil {
		log.FromContext(ctx).Info("the operator does not write the endpoints of the new master: kube-controller-manager does", "reason", err.Error())
	}
	changed, err := p.NoteRouted(ctx)
	if err != nil || !changed {
		return err
	}
	countFailover(p.Redis)
	last := p.Redis.Status.LastFailover
	p.Events.Eventf(p.Redis, nil, corev1.EventTypeNormal, commonv1.ReasonMasterChanged, last.Reason, "%s is master in epoch %d: %s", last.To,
		last.Epoch, changeMessages[last.Reason])
	return nil
}
