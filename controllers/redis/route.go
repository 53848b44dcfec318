package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/children"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fleet"
)

// endpointSliceController is the part of kube-controller-manager that writes the EndpointSlices of Services, as it labels them
// (https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/#management).
const endpointSliceController = "endpointslice-controller.k8s.io"

const (
	// endpointsLimit bounds the time for what kube-controller-manager will do as well: the next failover waits for this pass.
	endpointsLimit = 2 * time.Second
	// maxSlices bounds how many EndpointSlices of the Service are read. kube-controller-manager makes one for each family of addresses.
	maxSlices = 10
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

// reportMasterChange reports a change of the master once the Service leads to the new one. Before that, it writes the Service's endpoints.
func (p *pass) reportMasterChange(ctx context.Context) error {
	if !p.IsRouteNew() {
		return nil
	}
	if err := p.tryWriteEndpoints(ctx); err != nil {
		log.FromContext(ctx).Info("the endpoints of the new master were not written; clients wait for kube-controller-manager",
			"error", err.Error())
	}
	if err := p.NoteRouted(ctx); err != nil {
		return err
	}
	countFailover(p.Redis)
	last := p.Redis.Status.LastFailover
	p.Events.Eventf(p.Redis, nil, corev1.EventTypeNormal, commonv1.ReasonMasterChanged, last.Reason, "%s is master in epoch %d: %s", last.To,
		last.Epoch, changeMessages[last.Reason])
	return nil
}

// tryWriteEndpoints writes the endpoints within their limit. kube-controller-manager may write a slice meanwhile, with the former master
// that it sees end: then it tries once more.
func (p *pass) tryWriteEndpoints(ctx context.Context) error {
	limited, done := context.WithTimeout(ctx, endpointsLimit)
	defer done()
	err := p.writeEndpoints(limited)
	if apierrors.IsConflict(err) {
		err = p.writeEndpoints(limited)
	}
	return err
}

// writeEndpoints writes the address of the recorded master into the EndpointSlices of its Service. kube-controller-manager writes the same,
// but for all Services in turn, and by default it sends 20 requests a second: where many pods change, clients would wait for seconds.
// The slices stay its own: what it has written since they were read here is not overwritten.
func (p *pass) writeEndpoints(ctx context.Context) error {
	var service corev1.Service
	if err := p.Get(ctx, ctrlclient.ObjectKeyFromObject(p.Redis), &service); err != nil {
		return err
	}
	if !metav1.IsControlledBy(&service, p.Redis) {
		return converge.NotOurs("Service", &service)
	}
	var all discoveryv1.EndpointSliceList
	if err := p.APIReader.List(ctx, &all, ctrlclient.InNamespace(service.Namespace), ctrlclient.Limit(maxSlices), ctrlclient.MatchingLabels{
		discoveryv1.LabelServiceName: service.Name, discoveryv1.LabelManagedBy: endpointSliceController}); err != nil {
		return err
	}
	if all.Continue != "" {
		return fmt.Errorf("the Service has more than %d EndpointSlices", maxSlices)
	}
	master := p.Redis.Status.Replication.Master
	var pod corev1.Pod
	if err := p.APIReader.Get(ctx, ctrlclient.ObjectKey{Namespace: p.Redis.Namespace, Name: master.Name}, &pod); err != nil {
		return err
	}
	if pod.UID != master.PodUID || pod.DeletionTimestamp != nil || !fleet.HoldsAddress(&pod, master.Address) {
		return fmt.Errorf("%s is not, or no longer, the address of pod %q", master.Address, pod.Name) // but perhaps of another tenant's
	}
	// An older record leads to a former master. If another process promotes another node after this question, it writes the slices, and
	// the writes below are refused.
	if err := p.CheckUnchanged(ctx, p.Redis); err != nil {
		return err
	}
	var errs []error
	for i := range all.Items {
		if slice := &all.Items[i]; metav1.IsControlledBy(slice, &service) && slice.DeletionTimestamp == nil {
			errs = append(errs, p.writeEndpoint(ctx, slice, &pod))
		}
	}
	return errors.Join(errs...)
}

// writeEndpoint makes the pod the only endpoint of one slice.
func (p *pass) writeEndpoint(ctx context.Context, slice *discoveryv1.EndpointSlice, pod *corev1.Pod) error {
	before := slice.DeepCopy()
	if !children.LeadTo(slice, pod) {
		return nil
	}
	patch := ctrlclient.MergeFromWithOptions(before, ctrlclient.MergeFromWithOptimisticLock{})
	return p.Patch(ctx, slice, patch, ctrlclient.FieldOwner(converge.FieldManager))
}
