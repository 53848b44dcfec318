package redis

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

// crowd is how many objects others make in one run. kube-controller-manager sends 20 requests a second for the endpoints of all Services, so it
// is behind by 15 s for each Service that an object has.
const crowd = 300

// killAmid kills once others have made a crowd of objects. By the fields of the EndpointSlice, it is the operator that leads clients to the
// next master: kube-controller-manager is not there yet.
func killAmid(newObject func(namespace string, n int) client.Object) injectFunc {
	return func(ctx context.Context, s *subject, master corev1.Pod, _ int) (func() error, error) {
		namespace := newNamespace(ctx).Name
		for n := range crowd {
			if err := k8s.Create(ctx, newObject(namespace, n)); err != nil {
				return nil, fmt.Errorf("making object %d of %d: %w", n, crowd, err)
			}
		}
		struck := time.Now()
		err := fault.Kill(master.UID, program)
		if err == nil {
			Eventually(s.isLedByOperator).WithContext(ctx).WithArguments(struck).Should(BeTrue(), "the operator writes the endpoints")
		}
		return nil, err
	}
}

func newService(namespace string, n int) client.Object {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint("crowd-", n)},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "crowd"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
}

func newMemcached(namespace string, n int) client.Object {
	return builders.Memcached(fmt.Sprint("crowd-", n)).In(namespace).Size(1).Build()
}

// isLedByOperator reports whether the operator has written an EndpointSlice of the Service since then.
func (s *subject) isLedByOperator(ctx context.Context, since time.Time) (bool, error) {
	var all discoveryv1.EndpointSliceList
	err := k8s.List(ctx, &all, client.InNamespace(s.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: s.Name})
	for _, slice := range all.Items {
		for _, fields := range slice.ManagedFields {
			if fields.Manager == "mainstay-operator" && fields.Time != nil && !fields.Time.Time.Before(since.Truncate(time.Second)) {
				return true, nil
			}
		}
	}
	return false, err
}
