package redis

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
)

// routed is a Redis whose new master a-1 is recorded, and to which clients are not led yet.
type routed struct {
	redis   *cachev1alpha1.Redis
	service *corev1.Service
	pod     *corev1.Pod
	slices  []*discoveryv1.EndpointSlice
	refusal interceptor.Funcs
}

func newRouted() *routed {
	redis := &cachev1alpha1.Redis{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "redis", ResourceVersion: "7"}}
	redis.Status.Master, redis.Status.Epoch = "a-1", 2
	redis.Status.LastFailover = &cachev1alpha1.RedisFailover{Epoch: 2, From: "a-0", To: "a-1"}
	redis.Status.Replication = &cachev1alpha1.RedisReplication{Epoch: 2,
		Master: cachev1alpha1.RedisProcess{Name: "a-1", PodUID: "second", Address: "192.0.2.2"}}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "service",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(redis, cachev1alpha1.GroupVersion.WithKind("Redis"))}}}
	former := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "former"}}
	going, other := newSlice("going", endpointSliceController, service), newSlice("other", endpointSliceController, service)
	going.DeletionTimestamp, going.Finalizers = new(metav1.Now()), []string{"example.com/held"}
	other.Labels[discoveryv1.LabelServiceName] = "b"
	family := newSlice("ipv6", endpointSliceController, service)
	family.AddressType = discoveryv1.AddressTypeIPv6
	return &routed{redis: redis, service: service,
		pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a-1", UID: "second"},
			Status: corev1.PodStatus{PodIP: "192.0.2.2", PodIPs: []corev1.PodIP{{IP: "192.0.2.2"}, {IP: "2001:db8::2"}}}},
		slices: []*discoveryv1.EndpointSlice{newSlice("ipv4", endpointSliceController, service), family, going, other,
			newSlice("stranger", "somebody", service), newSlice("forged", endpointSliceController, nil),
			newSlice("of-the-former-service", endpointSliceController, former)},
	}
}

// newSlice makes an EndpointSlice that leads to the former master.
func newSlice(name, manager string, owner *corev1.Service) *discoveryv1.EndpointSlice {
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

// pass starts one on an API server that has all of it.
func (r *routed) pass(t *testing.T) (*pass, ctrlclient.Client) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), cachev1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	objects := []ctrlclient.Object{r.redis.DeepCopy(), r.service, r.pod}
	for _, slice := range r.slices {
		objects = append(objects, slice)
	}
	api := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(r.refusal).WithObjects(objects...).Build()
	reconciler := &Reconciler{clock: clock.RealClock{}}
	reconciler.Client, reconciler.APIReader, reconciler.Events = api, api, events.NewFakeRecorder(10)
	p := reconciler.newPass(r.redis, func(context.Context) error { return nil })
	return p, api
}

// targets returns the pod that each slice leads to; empty for none.
func targets(t *testing.T, api ctrlclient.Client) map[string]types.UID {
	t.Helper()
	var all discoveryv1.EndpointSliceList
	if err := api.List(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	found := map[string]types.UID{}
	for _, slice := range all.Items {
		found[slice.Name] = ""
		for _, endpoint := range slice.Endpoints {
			found[slice.Name] += endpoint.TargetRef.UID
		}
	}
	return found
}

func TestEndpointsOfANewMaster(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*routed)
		err    string // empty if the slices of both families lead to the new master
	}{
		"each of kube-controller-manager's": {func(*routed) {}, ""},
		"the pod was replaced":              {func(r *routed) { r.pod.UID = "third" }, "is not, or no longer, the address"},
		"the pod has another address":       {func(r *routed) { r.pod.Status = corev1.PodStatus{PodIP: "192.0.2.3"} }, "is not, or no longer"},
		"the pod has ended":                 {func(r *routed) { r.pod.Status.Phase = corev1.PodFailed }, "is not, or no longer, the address"},
		"the pod is being deleted": {func(r *routed) {
			r.pod.DeletionTimestamp, r.pod.Finalizers = new(metav1.Now()), []string{"example.com/held"}
		}, "is not, or no longer, the address"},
		"the Service is somebody else's": {func(r *routed) { r.service.OwnerReferences = nil }, "Service"},
		"more slices than there can be": {func(r *routed) {
			r.refusal.List = func(ctx context.Context, c ctrlclient.WithWatch, l ctrlclient.ObjectList, o ...ctrlclient.ListOption) error {
				l.SetContinue("more")
				return nil
			}
		}, "more than 10 EndpointSlices"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRouted()
			row.change(r)
			p, api := r.pass(t)
			err := p.writeEndpoints(t.Context())
			if (err == nil) != (row.err == "") || err != nil && !strings.Contains(err.Error(), row.err) {
				t.Errorf("got %v", err)
			}
			if r.refusal.List != nil {
				return
			}
			want := map[string]types.UID{"ipv4": "second", "ipv6": "second", "stranger": "first", "forged": "first", "going": "first",
				"other": "first", "of-the-former-service": "first"}
			if row.err != "" {
				want["ipv4"], want["ipv6"] = "first", "first"
			}
			if got := targets(t, api); !maps.Equal(got, want) {
				t.Errorf("got %v\nnot %v", got, want)
			}
		})
	}
}

// Clients of one family must not be led to the former master, since the new one has no address of that family.
func TestNoEndpointOfTheFormerMasterStays(t *testing.T) {
	r := newRouted()
	r.pod.Status.PodIPs = r.pod.Status.PodIPs[:1]
	p, api := r.pass(t)
	if err := p.writeEndpoints(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := targets(t, api); got["ipv4"] != "second" || got["ipv6"] != "" {
		t.Errorf("got %v", got)
	}
}

// A process whose cache is behind believes in a former master.
func TestAnOlderRecordLeadsNoClients(t *testing.T) {
	r := newRouted()
	p, api := r.pass(t)
	p.Redis.ResourceVersion = "6"
	if err := p.writeEndpoints(t.Context()); !apierrors.IsConflict(err) || targets(t, api)["ipv4"] != "first" {
		t.Errorf("%v, it leads to %s", err, targets(t, api)["ipv4"])
	}
}

// kube-controller-manager may write a slice between our read and our write: the newer one stays, and is read again.
func TestANewerSliceStays(t *testing.T) {
	r := newRouted()
	_, api := r.pass(t)
	var read discoveryv1.EndpointSlice
	if err := api.Get(t.Context(), ctrlclient.ObjectKey{Namespace: "n", Name: "ipv4"}, &read); err != nil {
		t.Fatal(err)
	}
	newer := read.DeepCopy()
	newer.Endpoints[0].TargetRef.UID = "third"
	if err := api.Update(t.Context(), newer); err != nil {
		t.Fatal(err)
	}
	p := (&Reconciler{}).newPass(r.redis, nil)
	p.Client = api
	if err := p.writeEndpoint(t.Context(), &read, r.pod); !apierrors.IsConflict(err) || targets(t, api)["ipv4"] != "third" {
		t.Errorf("%v, it leads to %s", err, targets(t, api)["ipv4"])
	}
}

func TestAConflictIsTriedAgainOnce(t *testing.T) {
	r, tries := newRouted(), 0
	r.slices = r.slices[:1]
	r.refusal.Patch = func(ctx context.Context, c ctrlclient.WithWatch, o ctrlclient.Object, p ctrlclient.Patch,
		all ...ctrlclient.PatchOption) error {
		if tries++; tries == 1 {
			return apierrors.NewConflict(discoveryv1.Resource("endpointslices"), o.GetName(), nil)
		}
		return c.Patch(ctx, o, p, all...)
	}
	p, api := r.pass(t)
	if err := p.tryWriteEndpoints(t.Context()); err != nil || tries != 2 || targets(t, api)["ipv4"] != "second" {
		t.Errorf("%v after %d tries", err, tries)
	}
}

// Another process may promote a third one, and lead clients to it, between our read and our write: a second try does not undo that.
func TestAnotherPromotionIsNotUndone(t *testing.T) {
	r, tries := newRouted(), 0
	r.slices = r.slices[:1]
	r.refusal.Patch = func(ctx context.Context, c ctrlclient.WithWatch, o ctrlclient.Object, p ctrlclient.Patch,
		all ...ctrlclient.PatchOption) error {
		if tries++; tries > 1 {
			return c.Patch(ctx, o, p, all...)
		}
		var redis cachev1alpha1.Redis
		var slice discoveryv1.EndpointSlice
		err := errors.Join(c.Get(ctx, ctrlclient.ObjectKeyFromObject(r.redis), &redis), c.Get(ctx, ctrlclient.ObjectKeyFromObject(o), &slice))
		redis.Status.Master, slice.Endpoints[0].TargetRef.UID = "a-2", "third"
		return errors.Join(err, c.Update(ctx, &redis), c.Update(ctx, &slice), c.Patch(ctx, o, p, all...))
	}
	p, api := r.pass(t)
	if err := p.tryWriteEndpoints(t.Context()); !apierrors.IsConflict(err) || tries != 1 || targets(t, api)["ipv4"] != "third" {
		t.Errorf("%v after %d tries, it leads to %s", err, tries, targets(t, api)["ipv4"])
	}
}

// What kube-controller-manager will do as well holds up no failover.
func TestAMasterChangeIsReportedWithoutItsEndpoints(t *testing.T) {
	forbidden := apierrors.NewForbidden(discoveryv1.Resource("endpointslices"), "", nil)
	for name, refusal := range map[string]interceptor.Funcs{
		"slices may not be listed": {List: func(context.Context, ctrlclient.WithWatch, ctrlclient.ObjectList, ...ctrlclient.ListOption) error {
			return forbidden
		}},
		"slices may not be written": {Patch: func(context.Context, ctrlclient.WithWatch, ctrlclient.Object, ctrlclient.Patch,
			...ctrlclient.PatchOption) error {
			return forbidden
		}},
		"the API server does not answer": {List: func(ctx context.Context, _ ctrlclient.WithWatch, _ ctrlclient.ObjectList,
			_ ...ctrlclient.ListOption) error {
			<-ctx.Done()
			return ctx.Err()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRouted()
				r.refusal = refusal
				p, _ := r.pass(t)
				if err := p.reportMasterChange(t.Context()); err != nil || p.Redis.Status.LastFailover.RoutedAt == nil {
					t.Errorf("%v, led at %v", err, p.Redis.Status.LastFailover.RoutedAt)
				}
			})
		})
	}
}

// At rest nothing is sent, and nothing before a master is recorded.
func TestEndpointsAreWrittenOnce(t *testing.T) {
	for name, change := range map[string]func(*cachev1alpha1.RedisStatus){
		"clients are led to it":    func(s *cachev1alpha1.RedisStatus) { s.LastFailover.RoutedAt = new(metav1.NowMicro()) },
		"it is not recorded yet":   func(s *cachev1alpha1.RedisStatus) { s.LastFailover.Epoch = 3 },
		"no master was recorded":   func(s *cachev1alpha1.RedisStatus) { s.Replication = nil },
		"another one is to follow": func(s *cachev1alpha1.RedisStatus) { s.LastFailover.To = "a-2" },
		"none was ever promoted":   func(s *cachev1alpha1.RedisStatus) { s.LastFailover = nil },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRouted()
			change(&r.redis.Status)
			p, api := r.pass(t)
			if err := p.reportMasterChange(t.Context()); err != nil || targets(t, api)["ipv4"] != "first" {
				t.Errorf("%v, it leads to %s", err, targets(t, api)["ipv4"])
			}
		})
	}
}
