package redis

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/children"
)

// endpointSliceController is the part of kube-controller-manager that writes the EndpointSlices of Services, as it labels them
// (https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/#management).
const endpointSliceController = "endpointslice-controller.k8s.io"

// writeEndpoints writes the address of the recorded master into the EndpointSlices of its Service. kube-controller-manager writes the same,
// but for all Services in turn, and by default it sends 20 requests a second: where many pods change, clients would wait for seconds.
// The slices stay its own: if it has read one before this write, its own write of it is refused.
func (p *pass) writeEndpoints(ctx context.Context) error {
	var service corev1.Service
	if err := p.Get(ctx, ctrlclient.ObjectKeyFromObject(p.Redis), &service); err != nil {
		return err
	}
	var pod corev1.Pod
	master := p.Redis.Status.Replication.Master
	if err := p.APIReader.Get(ctx, ctrlclient.ObjectKey{Namespace: p.Redis.Namespace, Name: master.Name}, &pod); err != nil {
		return err
	}
	if pod.UID != master.PodUID || pod.DeletionTimestamp != nil { // another pod may get its address at any time
		return fmt.Errorf("pod %q is no longer the one that was promoted", pod.Name)
	}
	var all discoveryv1.EndpointSliceList
	if err := p.APIReader.List(ctx, &all, ctrlclient.InNamespace(service.Namespace), ctrlclient.MatchingLabels{
		discoveryv1.LabelServiceName: service.Name, discoveryv1.LabelManagedBy: endpointSliceController}); err != nil {
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
	if !children.LeadTo(slice, pod, p.clock.Now()) {
		return nil
	}
	patch := ctrlclient.MergeFromWithOptions(before, ctrlclient.MergeFromWithOptimisticLock{})
	return p.Patch(ctx, slice, patch, ctrlclient.FieldOwner(converge.FieldManager))
}
