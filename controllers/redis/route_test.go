package redis

import (
	"context"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
)

// newSlice makes an EndpointSlice that leads to the former master.
func newSlice(name string, manager string, owner *corev1.Service) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name,
			Labels: map[string]string{discoveryv1.LabelServiceName: "a", discoveryv1.LabelManagedBy: manager}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}, TargetRef: &corev1.ObjectReference{UID: "first"}}},
	}
	if owner != nil {
		slice.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("Service"))}
	}
	return slice
}

func TestEndpointsOfANewMaster(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "service"}}
	former := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "former"}}
	going := newSlice("going", endpointSliceController, service)
	going.DeletionTimestamp, going.Finalizers = new(metav1.Now()), []string{"example.com/held"}
	other := newSlice("other", endpointSliceController, service)
	other.Labels[discoveryv1.LabelServiceName] = "b"
	family := newSlice("ipv6", endpointSliceController, service)
	family.AddressType = discoveryv1.AddressTypeIPv6
	recorded := cachev1alpha1.RedisProcess{Name: "a-1", PodUID: "second", Address: "192.0.2.2"}

	for name, row := range map[string]struct {
		change  func(*corev1.Pod)
		refused error
		want    []string // slices that lead to the new master
		fails   bool
	}{
		"each of kube-controller-manager's": {want: []string{"ipv4", "ipv6"}},
		"the pod was replaced":              {change: func(p *corev1.Pod) { p.UID = "third" }, fails: true},
		"the pod ends": {change: func(p *corev1.Pod) {
			p.DeletionTimestamp, p.Finalizers = new(metav1.Now()), []string{"example.com/held"}
		}, fails: true},
		"without the right to": {refused: apierrors.NewForbidden(discoveryv1.Resource("endpointslices"), "", nil), fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a-1", UID: "second"},
				Status: corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: "192.0.2.2"}, {IP: "2001:db8::2"}}}}
			if row.change != nil {
				row.change(pod)
			}
			api := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithInterceptorFuncs(interceptor.Funcs{
				Patch: func(ctx context.Context, c ctrlclient.WithWatch, o ctrlclient.Object, p ctrlclient.Patch, all ...ctrlclient.PatchOption) error {
					if row.refused != nil {
						return row.refused
					}
					return c.Patch(ctx, o, p, all...)
				},
			}).WithObjects(service, pod, going, other, family, newSlice("ipv4", endpointSliceController, service),
				newSlice("stranger", "somebody", service), newSlice("forged", endpointSliceController, nil),
				newSlice("of-the-former-service", endpointSliceController, former)).Build()
			r := &Reconciler{clock: clock.RealClock{}}
			r.Client, r.APIReader = api, api
			redis := &cachev1alpha1.Redis{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a"}}
			redis.Status.Replication = &cachev1alpha1.RedisReplication{Master: recorded}
			if err := r.newPass(redis, nil).writeEndpoints(t.Context()); (err != nil) != row.fails {
				t.Error(err)
			}
			want := map[string]types.UID{"ipv4": "first", "ipv6": "first", "stranger": "first", "forged": "first", "going": "first",
				"other": "first", "of-the-former-service": "first"}
			for _, name := range row.want {
				want[name] = "second"
			}
			if got := targets(t, api); !maps.Equal(got, want) {
				t.Errorf("got %v\nnot %v", got, want)
			}
		})
	}
}

// targets returns the pod that each slice leads to.
func targets(t *testing.T, api ctrlclient.Client) map[string]types.UID {
	t.Helper()
	var all discoveryv1.EndpointSliceList
	if err := api.List(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	found := map[string]types.UID{}
	for _, slice := range all.Items {
		found[slice.Name] = slice.Endpoints[0].TargetRef.UID
	}
	return found
}

// kube-controller-manager may write a slice between our read and our write: the newer one stays.
func TestANewerSliceStays(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "service"}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a-1", UID: "second"},
		Status: corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: "192.0.2.2"}}}}
	slice := newSlice("ipv4", endpointSliceController, service)
	api := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(slice).Build()
	read := slice.DeepCopy()
	if err := api.Get(t.Context(), ctrlclient.ObjectKeyFromObject(slice), read); err != nil {
		t.Fatal(err)
	}
	newer := read.DeepCopy()
	newer.Endpoints[0].TargetRef.UID = "third"
	if err := api.Update(t.Context(), newer); err != nil {
		t.Fatal(err)
	}
	r := &Reconciler{clock: clock.RealClock{}}
	r.Client = api
	err := r.newPass(&cachev1alpha1.Redis{}, nil).writeEndpoint(t.Context(), read, pod)
	if got := targets(t, api)["ipv4"]; !apierrors.IsConflict(err) || got != "third" {
		t.Errorf("%v, it leads to %s", err, got)
	}
}
