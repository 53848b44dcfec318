package traffic

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestAnAddressIsReadOnceASecond(t *testing.T) {
	reads := 0
	service := &corev1.Service{}
	service.Namespace, service.Name, service.Spec.ClusterIP = somewhere.Namespace, somewhere.Name, "10.96.0.7"
	api := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(service).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
			reads++
			return c.Get(ctx, key, into, options...)
		},
	}).Build()
	now := clocktesting.NewFakePassiveClock(time.Now())
	ips := &clusterIPs{reader: api, clock: now, known: map[client.ObjectKey]clusterIP{}}
	requireAddress := func(want string, wantReads int) {
		t.Helper()
		if address, err := ips.address(t.Context(), somewhere); err != nil || address != want || reads != wantReads {
			t.Errorf("%q after %d reads (%v), not %q after %d", address, reads, err, want, wantReads)
		}
	}
	requireAddress("10.96.0.7", 1)
	requireAddress("10.96.0.7", 1)
	service.Spec.ClusterIP = "10.96.0.8" // another Service under the same name
	if err := api.Update(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	now.SetTime(now.Now().Add(addressMaxAge))
	requireAddress("10.96.0.8", 2)
	if err := api.Delete(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	now.SetTime(now.Now().Add(addressMaxAge))
	if address, err := ips.address(t.Context(), somewhere); err == nil {
		t.Errorf("%q of a Service that was deleted", address)
	}
}
