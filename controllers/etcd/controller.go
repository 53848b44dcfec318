// Package etcd reconciles EtcdClusters.
//
// A pass has six steps: read.go reads the API server; internal/fleet looks at the servers; internal/membership/plan.go decides;
// internal/fleet acts; pass.go applies what follows; report.go sets the status. internal/wire has the protocol of the servers.
package etcd

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// +kubebuilder:rbac:groups=database.mainstay-operator.io,resources=etcdclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=database.mainstay-operator.io,resources=etcdclusters/status,verbs=get;patch
// +kubebuilder:rbac:groups=database.mainstay-operator.io,resources=etcdclusters/finalizers,verbs=update
// +kubebuilder:rbac:groups=database.mainstay-operator.io,resources=etcdrestores,verbs=get;list;watch
// +kubebuilder:rbac:groups=database.mainstay-operator.io,resources=etcdbackups,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=apps,resources=statefulsets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services;secrets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=monitoring.coreos.com,resources=servicemonitors,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Owned are the types of children: watched, and pruned when no longer desired.
var Owned = []ctrlclient.Object{
	&appsv1.StatefulSet{}, &corev1.Service{}, &corev1.Secret{}, &policyv1.PodDisruptionBudget{}, &networkingv1.NetworkPolicy{},
}

// KeptArgument is the prefix of the only argument of a container that the controller reads, so that the cache keeps it.
const KeptArgument = config.QuotaArgument

// optionalTypes are the types of children that a cluster may lack.
var optionalTypes = []schema.GroupVersionKind{
	schema.FromAPIVersionAndKind(*parts.ServiceMonitorType.APIVersion, *parts.ServiceMonitorType.Kind),
}

// Reconciler reconciles EtcdClusters.
type Reconciler struct {
	converge.Converger
	// DefaultImages are those of the newest patches that package membership knows, from the earliest minor version on.
	DefaultImages []string
	// Secrets reads the Secrets that users made.
	Secrets *converge.UserSecrets
	// LauncherImage has the program that starts etcd in a pod: the operator's own image.
	LauncherImage string

	clock  clock.PassiveClock
	memory memory
}

// Reconcile runs one pass over one EtcdCluster.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return converge.Reconcile(ctx, &r.Converger, req, &databasev1alpha1.EtcdCluster{}, r.reconcile)
}

func (r *Reconciler) reconcile(ctx context.Context, cluster *databasev1alpha1.EtcdCluster, save converge.SaveStatus) (ctrl.Result, error) {
	p, err := r.read(ctx, cluster, save) // once
	if err != nil {
		return p.recheck(), err
	}
	p.look(ctx)
	defer p.fleet.Close()
	p.plan()
	if err := p.act(ctx); err != nil {
		return ctrl.Result{}, err
	}
	return p.report(ctx, p.apply(ctx))
}

// SetupWithManager starts the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.Owned, r.OptionalTypes, r.clock = Owned, optionalTypes, clock.RealClock{}
	r.Finalize = func(_ context.Context, key types.NamespacedName) error {
		r.memory.Forget(key)
		r.Secrets.Forget(key)
		return nil
	}
	secrets, err := r.Secrets.Watch(mgr, &databasev1alpha1.EtcdCluster{}, &databasev1alpha1.EtcdClusterList{}, secretNames)
	if err != nil {
		return err
	}
	restores := watchReferrers(mgr, &databasev1alpha1.EtcdRestore{}, func(obj ctrlclient.Object) string {
		return obj.(*databasev1alpha1.EtcdRestore).Spec.ClusterName
	})
	backups := watchReferrers(mgr, &databasev1alpha1.EtcdBackup{}, func(obj ctrlclient.Object) string {
		return obj.(*databasev1alpha1.EtcdBackup).Spec.ClusterName
	})
	return r.SetUpController(mgr, &databasev1alpha1.EtcdCluster{}, config.AppName, r.ProbingOptions(&databasev1alpha1.EtcdCluster{}), r,
		secrets, watchFetchPods(mgr), restores, backups)
}
