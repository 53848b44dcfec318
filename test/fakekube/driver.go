// Package fakekube plays what an API server alone has not: the workload
// controllers, the kubelet and the garbage collector. Everything goes well and
// at once, unless a test's own Kubelet says otherwise.
package fakekube

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Kubelet sets the status of a pod that may run. It must come to rest: what it
// has set once, it leaves.
type Kubelet func(pod *corev1.Pod)

// Driver is the one stand-in of a test cluster.
type Driver struct {
	client.Client
	live    client.Reader
	kubelet Kubelet
}

// Start drives all namespaces until ctx ends. The garbage collector knows these owners and children, and those of
// the workloads that are played.
func Start(ctx context.Context, cluster *rest.Config, scheme *runtime.Scheme, kubelet Kubelet, owners, children []client.Object) error {
	mgr, err := ctrl.NewManager(cluster, ctrl.Options{
		Scheme:     scheme,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		return fmt.Errorf("children: %w", err)
	}
	d := &Driver{Client: mgr.GetClient(), live: mgr.GetAPIReader(), kubelet: kubelet}
	for _, driven := range []struct {
		kind client.Object
		by   reconcile.Func
		pods bool
	}{
		{&appsv1.StatefulSet{}, d.statefulSet, true},
		{&appsv1.Deployment{}, d.deployment, true},
		{&corev1.Pod{}, d.pod, false},
	} {
		b := ctrl.NewControllerManagedBy(mgr).For(driven.kind)
		if driven.pods {
			b.Owns(&corev1.Pod{})
		}
		if err := b.Complete(driven.by); err != nil {
			return fmt.Errorf("children: %w", err)
		}
	}
	if err := d.collectGarbage(mgr, owners, children); err != nil {
		return fmt.Errorf("children: %w", err)
	}
	go func() { _ = mgr.Start(ctx) }() // ends with ctx; a test that misses it times out
	return nil
}

func (d *Driver) saveStatus(ctx context.Context, obj, before client.Object) error {
	if apiequality.Semantic.DeepEqual(obj, before) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}) // the cache may lag
	return client.IgnoreNotFound(d.Status().Patch(ctx, obj, patch))
}
