package etcd

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// secretNames returns the names of the user's Secrets that an object refers to.
func secretNames(e ctrlclient.Object) []string {
	var names []string
	if over := e.(*databasev1alpha1.EtcdCluster).Spec.TLS; over != nil {
		names = append(names, over.SecretName)
	}
	if auth := e.(*databasev1alpha1.EtcdCluster).Spec.Auth; auth != nil {
		names = append(names, auth.SecretName)
	}
	return names
}

// watchFetchPods has the pods of backups wake those who made them.
func watchFetchPods(mgr ctrl.Manager) source.Source {
	return source.Kind[ctrlclient.Object](mgr.GetCache(), &corev1.Pod{}, converge.EnqueueForInstance(config.FetchAppName))
}

// watchReferrers has objects of a kind wake the clusters that they name.
func watchReferrers(mgr ctrl.Manager, kind ctrlclient.Object, clusterOf func(ctrlclient.Object) string) source.Source {
	return source.Kind[ctrlclient.Object](mgr.GetCache(), kind, handler.EnqueueRequestsFromMapFunc(
		func(_ context.Context, obj ctrlclient.Object) []reconcile.Request {
			return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: clusterOf(obj)}}}
		}))
}
