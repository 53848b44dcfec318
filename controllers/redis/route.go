package redis

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// applyRouteOnly points the existing Service at the master and changes nothing else, for when the API
// server refuses a child as the spec wants it. led reports whether the Service leads to the master.
func (r *Reconciler) applyRouteOnly(ctx context.Context, redis *cachev1alpha1.Redis) (led bool, err error) {
	var service corev1.Service
	if err := r.Get(ctx, ctrlclient.ObjectKeyFromObject(redis), &service); err != nil {
		return false, ctrlclient.IgnoreNotFound(err)
	}
	if redis.Status.Master == "" || !metav1.IsControlledBy(&service, redis) {
		return false, nil
	}
	if before := service.DeepCopy(); service.Spec.Selector[labelPod] != redis.Status.Master {
		service.Spec.Selector[labelPod] = redis.Status.Master
		patch := ctrlclient.MergeFromWithOptions(before, ctrlclient.MergeFromWithOptimisticLock{})
		if err := r.Patch(ctx, &service, patch, ctrlclient.FieldOwner(converge.FieldManager)); err != nil {
			return false, fmt.Errorf("leading clients to %s: %w", redis.Status.Master, err)
		}
	}
	return true, nil
}

// reportMasterChange reports a change of the master, once the Service leads to the new one.
func (r *Reconciler) reportMasterChange(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet) error {
	last := redis.Status.LastFailover
	if last == nil || last.RoutedAt != nil || last.To != redis.Status.Master {
		return nil
	}
	last.RoutedAt = r.microNow()
	if err := f.save(ctx); err != nil { // or it would be told again
		return err
	}
	f.SinceRouted = 0
	countFailover(redis)
	r.Events.Eventf(redis, nil, corev1.EventTypeNormal, commonv1.ReasonMasterChanged, last.Reason, "%s is master in epoch %d: %s", last.To, last.Epoch, changeMessages[last.Reason])
	return nil
}
