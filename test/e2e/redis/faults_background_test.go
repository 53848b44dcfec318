package redis

import (
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
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

// amongNewMemcacheds has the same operator make the children of ever more objects, faster than kube-controller-manager follows. Once there
// are as many as can be deleted in time, one goes for each that comes.
func amongNewMemcacheds(_ context.Context, b *backgroundLoad) writeFunc {
	b.types = []client.Object{&cachev1alpha1.Memcached{}}
	most := maxSurplus * b.objects
	return func(ctx context.Context, n int) error {
		if err := create(ctx, b.memcached(n)); err != nil || n < most {
			return err
		}
		return client.IgnoreNotFound(k8s.Delete(ctx, b.memcached(n-most)))
	}
}

// amongMemcacheds that rest: the operator and Kubernetes' controllers hold them in memory, and have nothing to do for them.
func amongMemcacheds(ctx context.Context, b *backgroundLoad) writeFunc {
	GinkgoHelper()
	b.types = []client.Object{&cachev1alpha1.Memcached{}}
	b.make(ctx, func(n int) []client.Object { return []client.Object{b.memcached(n)} })
	b.untilAll(ctx, b.readyMemcacheds)
	return nil
}

// amongRollouts rolls all Deployments of others, one after the other and over again, so that the endpoints of their Services change
// all the time. The operator has nothing to do with them.
func amongRollouts(ctx context.Context, b *backgroundLoad) writeFunc {
	GinkgoHelper()
	b.types = []client.Object{&appsv1.Deployment{}}
	b.make(ctx, b.deploymentWithService)
	b.untilAll(ctx, b.availableDeployments)
	return func(ctx context.Context, n int) error {
		roll := client.RawPatch(types.MergePatchType, fmt.Appendf(nil,
			`{"spec":{"template":{"metadata":{"annotations":{"example.com/rolled":"%d"}}}}}`, n))
		return k8s.Patch(ctx, &appsv1.Deployment{ObjectMeta: b.nameOf(n % b.objects)}, roll)
	}
}

func (b *backgroundLoad) nameOf(n int) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: b.namespace, Name: fmt.Sprintf("background-%05d", n)}
}

// memcached of one pod.
func (b *backgroundLoad) memcached(n int) client.Object {
	return builders.Memcached(b.nameOf(n).Name).In(b.namespace).Size(1).
		With(func(s *cachev1alpha1.MemcachedSpec) { b.node.Place(&s.Scheduling) }).Build()
}

// deploymentWithService of one pod. It keeps no more former ReplicaSets than it needs.
func (b *backgroundLoad) deploymentWithService(n int) []client.Object {
	var where commonv1.Scheduling
	b.node.Place(&where)
	name := b.nameOf(n)
	labels := map[string]string{"app": name.Name}
	return []client.Object{
		&corev1.Service{ObjectMeta: name, Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80}}}},
		&appsv1.Deployment{ObjectMeta: name, Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](1), RevisionHistoryLimit: ptr.To[int32](0),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				NodeSelector: where.NodeSelector, Tolerations: where.Tolerations,
				Containers: []corev1.Container{{Name: "web", Image: "example.org/web:1"}}}},
		}},
	}
}

// readyMemcacheds counts them.
func (b *backgroundLoad) readyMemcacheds(ctx context.Context) (ready int, err error) {
	var all cachev1alpha1.MemcachedList
	err = k8s.List(ctx, &all, client.InNamespace(b.namespace))
	for i := range all.Items {
		if meta.IsStatusConditionTrue(all.Items[i].Status.Conditions, commonv1.ConditionReady) {
			ready++
		}
	}
	return ready, err
}

// availableDeployments counts those whose pod is ready.
func (b *backgroundLoad) availableDeployments(ctx context.Context) (available int, err error) {
	var all appsv1.DeploymentList
	err = k8s.List(ctx, &all, client.InNamespace(b.namespace))
	for i := range all.Items {
		if all.Items[i].Status.AvailableReplicas > 0 {
			available++
		}
	}
	return available, err
}
