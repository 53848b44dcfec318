package fault

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Churn changes the endpoint of a Service of its own in the namespace every interval, as rollouts in
// a busy cluster do, so that kube-proxy is never at rest. No request goes there: the addresses are of
// the documentation's range (RFC 5737).
func Churn(ctx context.Context, c client.Client, namespace string, interval time.Duration) (stop func() error, err error) {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "churn"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: service.Name,
			Labels: map[string]string{discoveryv1.LabelServiceName: service.Name}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}}},
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To[int32](80), Protocol: ptr.To(corev1.ProtocolTCP)}},
	}
	for _, obj := range []client.Object{service, slice} {
		if err := c.Create(ctx, obj); err != nil {
			return nil, fmt.Errorf("making endpoints that change: %w", err)
		}
	}
	run, enough := context.WithCancel(context.WithoutCancel(ctx))
	var changing sync.WaitGroup
	var failed error
	changing.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for n := 1; ; n++ {
			select {
			case <-run.Done():
				return
			case <-tick.C:
			}
			before := slice.DeepCopy()
			slice.Endpoints[0].Addresses[0] = fmt.Sprintf("192.0.2.%d", 1+n%2)
			if err := c.Patch(run, slice, client.MergeFrom(before)); err != nil && run.Err() == nil {
				failed = fmt.Errorf("changing endpoints: %w", err)
				return
			}
		}
	})
	return func() error {
		enough()
		changing.Wait()
		return errors.Join(failed, c.Delete(ctx, service), client.IgnoreNotFound(c.Delete(ctx, slice)))
	}, nil
}
