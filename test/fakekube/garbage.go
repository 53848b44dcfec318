package fakekube

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// collectGarbage removes children whose controller is no more, be it that the
// owner went or that the child came too late.
func (d *Driver) collectGarbage(mgr ctrl.Manager, owners, children []client.Object) error {
	owners = append(slices.Clone(owners), &appsv1.StatefulSet{}, &appsv1.Deployment{})
	children = append(slices.Clone(children), &corev1.Pod{}, &corev1.PersistentVolumeClaim{}, &appsv1.ReplicaSet{})
	for _, kind := range children {
		gvk, err := apiutil.GVKForObject(kind, mgr.GetScheme())
		if err != nil {
			return err
		}
		b := ctrl.NewControllerManagedBy(mgr).Named("garbage-" + gvk.Kind).For(kind)
		for _, owner := range owners {
			b.Watches(owner, d.childrenOf(gvk))
		}
		if err := b.Complete(d.collect(gvk)); err != nil {
			return err
		}
	}
	return nil
}

// childrenOf looks at all children of an owner that went.
func (d *Driver) childrenOf(gvk schema.GroupVersionKind) handler.EventHandler {
	return handler.Funcs{DeleteFunc: func(ctx context.Context, gone event.DeleteEvent,
		queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := d.live.List(ctx, list, client.InNamespace(gone.Object.GetNamespace())); err != nil {
			return // the test cluster is going down
		}
		for i := range list.Items {
			if metav1.IsControlledBy(&list.Items[i], gone.Object) {
				queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
			}
		}
	}}
}

// collect asks the cache first and, before it deletes, the server.
func (d *Driver) collect(gvk schema.GroupVersionKind) reconcile.Func {
	return func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		for _, reader := range []client.Reader{d, d.live} {
			orphan, err := d.orphan(ctx, reader, gvk, req.NamespacedName)
			if err != nil || orphan == nil {
				return ctrl.Result{}, err
			}
			if reader == d.live {
				return ctrl.Result{}, d.drop(ctx, orphan)
			}
		}
		return ctrl.Result{}, nil
	}
}

// orphan gives the child when its controller is not there, else nil.
func (d *Driver) orphan(ctx context.Context, reader client.Reader, gvk schema.GroupVersionKind, key types.NamespacedName) (client.Object,
	error) {
	child, err := d.object(gvk)
	if err != nil {
		return nil, err
	}
	if err := reader.Get(ctx, key, child); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	ref := metav1.GetControllerOf(child)
	if ref == nil || !child.GetDeletionTimestamp().IsZero() {
		return nil, nil
	}
	owner, err := d.object(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
	if err != nil {
		return nil, err
	}
	err = reader.Get(ctx, types.NamespacedName{Namespace: key.Namespace, Name: ref.Name}, owner)
	if apierrors.IsNotFound(err) || err == nil && owner.GetUID() != ref.UID {
		return child, nil
	}
	return nil, err
}

func (d *Driver) object(gvk schema.GroupVersionKind) (client.Object, error) {
	made, err := d.Scheme().New(gvk)
	if err != nil {
		return nil, err
	}
	return made.(client.Object), nil
}
