package redis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

// amidChurn keeps kube-proxy busy: it always has another change to make. The fault comes at another moment of its second each time.
func amidChurn(ctx context.Context, s *subject, n int) (end func() error, err error) {
	stop, err := fault.Churn(ctx, k8s, s.Namespace, 300*time.Millisecond)
	if err != nil {
		return nil, err
	}
	stop = sync.OnceValue(stop)
	DeferCleanup(stop)
	stay(ctx, stillness+time.Duration(n%10)*100*time.Millisecond)
	return func() error {
		stay(ctx, stillness)
		return stop()
	}, nil
}

// crowd is how many objects others make in one run. kube-controller-manager sends 20 requests a second for the endpoints of all
// Services, so it is behind by up to 15 s for each Service that such an object has.
const crowd = 300

// amidServices has others make Services during the fault, faster than kube-controller-manager writes their endpoints.
func amidServices(ctx context.Context, _ *subject, _ int) (end func() error, err error) {
	return makeCrowd(ctx, func(namespace string, n int) client.Object {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint("crowd-", n)},
			Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "crowd"}, Ports: []corev1.ServicePort{{Port: 80}}},
		}
	})
}

// amidMemcacheds has the same operator make the children of other objects during the fault. Their pods find no node.
func amidMemcacheds(ctx context.Context, _ *subject, _ int) (end func() error, err error) {
	return makeCrowd(ctx, func(namespace string, n int) client.Object {
		return builders.Memcached(fmt.Sprint("crowd-", n)).In(namespace).With(func(s *cachev1alpha1.MemcachedSpec) {
			s.NodeSelector = map[string]string{"example.com/crowd": "none"}
		}).Build()
	})
}

// makeCrowd makes a crowd of objects in a namespace of their own. It returns once half of them are made; end waits for the others, and
// deletes all.
func makeCrowd(ctx context.Context, newObject func(namespace string, n int) client.Object) (end func() error, err error) {
	namespace := newNamespace(ctx).Name
	half, ended := make(chan error, 2), make(chan error, 1)
	go func() {
		var err error
		for n := 0; n < crowd && err == nil; n++ {
			if n == crowd/2 {
				half <- nil
			}
			err = k8s.Create(ctx, newObject(namespace, n))
		}
		half <- err
		ended <- err
	}()
	end = sync.OnceValue(func() error { return errors.Join(<-ended, discard(context.WithoutCancel(ctx), namespace)) })
	DeferCleanup(end)
	return end, <-half
}
