// Package etcdrestore reports how far EtcdRestores are: types → controller → status. The EtcdCluster's own controller fetches the
// backup, starts, and restores; here only its result is reported.
package etcdrestore

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// +kubebuilder:rbac:groups=database.mainstay-operator.io,resources=etcdrestores,verbs=get;list;watch
// +kubebuilder:rbac:groups=database.mainstay-operator.io,resources=etcdrestores/status,verbs=get;patch
// +kubebuilder:rbac:groups=database.mainstay-operator.io,resources=etcdclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// appName is the value of app.kubernetes.io/name that pods of this kind would have: it has none.
const appName = "etcdrestore"

// Reconciler reports EtcdRestores.
type Reconciler struct {
	converge.Converger

	clock clock.PassiveClock
}

// Reconcile runs one pass over one EtcdRestore.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return converge.Reconcile(ctx, &r.Converger, req, &databasev1alpha1.EtcdRestore{}, r.reconcile)
}

func (r *Reconciler) reconcile(ctx context.Context, restore *databasev1alpha1.EtcdRestore, _ converge.SaveStatus) (ctrl.Result, error) {
	if restore.HasEnded() {
		return ctrl.Result{}, nil // it never runs again
	}
	now := r.clock.Now()
	cluster, err := getCluster(ctx, r.Client, restore)
	if err != nil {
		return ctrl.Result{}, err
	}
	outcome := judge(restore, cluster, now)
	if outcome.failed { // for good, so the cache does not do
		if cluster, err = getCluster(ctx, r.APIReader, restore); err != nil {
			return ctrl.Result{}, err
		}
		outcome = judge(restore, cluster, now)
	}
	setStatus(restore, outcome)
	return ctrl.Result{RequeueAfter: outcome.recheckAfter}, nil
}

// getCluster reads the EtcdCluster of a restore; nil if there is none.
func getCluster(ctx context.Context, reader ctrlclient.Reader, restore *databasev1alpha1.EtcdRestore) (*databasev1alpha1.EtcdCluster,
	error) {
	cluster := &databasev1alpha1.EtcdCluster{}
	err := reader.Get(ctx, types.NamespacedName{Namespace: restore.Namespace, Name: restore.Spec.ClusterName}, cluster)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading EtcdCluster %q: %w", restore.Spec.ClusterName, err)
	}
	return cluster, nil
}

// SetupWithManager starts the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.clock = clock.RealClock{}
	clusters := source.Kind[ctrlclient.Object](mgr.GetCache(), &databasev1alpha1.EtcdCluster{},
		handler.EnqueueRequestsFromMapFunc(r.restoresOf))
	return r.SetUpController(mgr, &databasev1alpha1.EtcdRestore{}, appName, r.Options(&databasev1alpha1.EtcdRestore{}), r, clusters)
}

// restoresOf are the EtcdRestores of a cluster that have not ended.
func (r *Reconciler) restoresOf(ctx context.Context, cluster ctrlclient.Object) []reconcile.Request {
	var list databasev1alpha1.EtcdRestoreList
	if err := r.List(ctx, &list, ctrlclient.InNamespace(cluster.GetNamespace())); err != nil {
		return nil // the cache has not started; it will show each
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if restore := &list.Items[i]; restore.Spec.ClusterName == cluster.GetName() && !restore.HasEnded() {
			requests = append(requests, reconcile.Request{NamespacedName: ctrlclient.ObjectKeyFromObject(restore)})
		}
	}
	return requests
}
