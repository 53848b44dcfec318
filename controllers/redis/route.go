package redis

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/children"
)

// applyRouteOnly points the existing Service at the master and changes nothing else, for when the API
// server refuses a child as the spec wants it. led reports whether the Service leads to the master.
func (p *pass) applyRouteOnly(ctx context.Context) (led bool, err error) {
	var service corev1.Service
	if err := p.Get(ctx, ctrlclient.ObjectKeyFromObject(p.redis), &service); err != nil {
		return false, ctrlclient.IgnoreNotFound(err)
	}
	if p.redis.Status.Master == "" || !metav1.IsControlledBy(&service, p.redis) {
		return false, nil
	}
	if before := service.DeepCopy(); service.Spec.Selector[children.LabelPod] != p.redis.Status.Master {
		service.Spec.Selector[children.LabelPod] = p.redis.Status.Master
		patch := ctrlclient.MergeFromWithOptions(before, ctrlclient.MergeFromWithOptimisticLock{})
		if err := p.Patch(ctx, &service, patch, ctrlclient.FieldOwner(converge.FieldManager)); err != nil {
			return false, fmt.Errorf("leading clients to %s: %w", p.redis.Status.Master, err)
		}
	}
	return true, nil
}

// reportMasterChange reports a change of the master, once the Service leads to the new one.
func (p *pass) reportMasterChange(ctx context.Context) error {
	last := p.redis.Status.LastFailover
	if last == nil || last.RoutedAt != nil || last.To != p.redis.Status.Master {
		return nil
	}
	last.RoutedAt = p.microNow()
	if err := p.save(ctx); err != nil { // or the event would be sent again
		return err
	}
	p.SinceRouted = 0
	countFailover(p.redis)
	p.Events.Eventf(p.redis, nil, corev1.EventTypeNormal, commonv1.ReasonMasterChanged, last.Reason, "%s is master in epoch %d: %s", last.To,
		last.Epoch, changeMessages[last.Reason])
	return nil
}
