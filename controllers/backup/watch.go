package backup

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	ctrlsource "sigs.k8s.io/controller-runtime/pkg/source"
)

// SetupWithManager watches the objects, their pods, and what they back up.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.Clock, r.Finalize = clock.RealClock{}, func(_ context.Context, key types.NamespacedName) error {
		r.Kind.forget(key)
		return nil
	}
	object := r.Kind.newObject().(Object)
	sources := ctrlsource.Kind(mgr.GetCache(), r.Kind.newSource(), handler.EnqueueRequestsFromMapFunc(r.backupsOf))
	return r.SetUpController(mgr, object, r.Kind.appName, r.Options(object), r, sources)
}

// backupsOf returns the objects that wait for that source.
func (r *Reconciler) backupsOf(ctx context.Context, source client.Object) []reconcile.Request {
	list := r.Kind.newList()
	if err := r.List(ctx, list, client.InNamespace(source.GetNamespace())); err != nil {
		return nil // there is no such list yet: each object gets its first pass anyway
	}
	var requests []reconcile.Request
	_ = meta.EachListItem(list, func(item runtime.Object) error {
		if b := item.(Object); b.GetSourceName() == source.GetName() {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)})
		}
		return nil
	})
	return requests
}
