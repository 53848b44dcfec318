package etcd

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

// awaitStatus waits until a status holds, or has held since the EtcdCluster was read: the API server reports each one that was
// ever saved, so that one which is soon over is not missed.
func awaitStatus(ctx context.Context, since *databasev1alpha1.EtcdCluster, holds func(*databasev1alpha1.EtcdClusterStatus) bool) error {
	ctx, done := context.WithTimeout(ctx, healLimit)
	defer done()
	watcher := &cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		return k8s.Watch(ctx, &databasev1alpha1.EtcdClusterList{}, &client.ListOptions{Namespace: since.Namespace, Raw: &options})
	}}
	_, err := watchtools.Until(ctx, since.ResourceVersion, watcher, heldBy(since, holds))
	return err
}

// heldBy reports of an event of a watch whether that object's status holds then. It returns an error where the history is gone.
func heldBy(object *databasev1alpha1.EtcdCluster, holds func(*databasev1alpha1.EtcdClusterStatus) bool) watchtools.ConditionFunc {
	return func(event watch.Event) (bool, error) {
		if event.Type == watch.Error {
			return false, apierrors.FromObject(event.Object)
		}
		now, is := event.Object.(*databasev1alpha1.EtcdCluster)
		return is && now.UID == object.UID && holds(&now.Status), nil
	}
}
