// Package etcd reconciles EtcdClusters: types → resources → controller → status. What is done next is decided in
// internal/membership; internal/wire speaks with the servers.
package etcd

import (
	"cmp"
	"context"
	"errors"
	"time"

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
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
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

const (
	// restInterval is the time between two looks at a cluster at rest. A pod's end wakes the operator sooner; an alarm does not.
	restInterval = 15 * time.Second
	// actLimit bounds a step. It is shorter than the time from when a lease is too old to act under until another may begin (5 s).
	actLimit = 3 * time.Second
)

// errNotLeading is the error of a process that was stopped and wakes, until the leader election ends it.
var errNotLeading = errors.New("the lease was not renewed in time: another may lead")

// Reconcile runs one pass over one EtcdCluster.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return converge.Reconcile(ctx, &r.Converger, req, &databasev1alpha1.EtcdCluster{}, r.reconcile)
}

func (r *Reconciler) reconcile(ctx context.Context, e *databasev1alpha1.EtcdCluster, save converge.SaveStatus) (ctrl.Result, error) {
	spec := resolve(e, r.DefaultImages)
	in, err := r.read(ctx, e, spec)
	if err != nil {
		return ctrl.Result{RequeueAfter: in.certificates.RecheckAfter}, err // which time may mend
	}
	spec.Quota = quota(e, volumeSize(e, in.set)) // of the volumes that there are
	outside := &apiEffects{Reconciler: r, etcd: e, pods: in.pods, fetches: in.fetches, requests: in.requests, backups: in.backups, saveStatus: save}
	f := r.observe(ctx, e, spec, in, outside)
	defer f.close()

	next := f.situation(e).Plan() // one decision, pure
	apply := r.Converge
	var failed error // a step that a server refuses keeps neither the children nor the status from going on
	switch {
	case in.lost != nil:
		next, apply = *in.lost, r.ReadChildren
	case changesNothing(e, next):
		apply = r.ReadChildren
	default:
		next, failed = outcome(next, r.execute(ctx, e, f, next))
		if outside.unsaved || errors.Is(failed, errNotLeading) {
			return ctrl.Result{}, failed // nothing may follow from what is not on record, or from a former leader's word
		}
	}
	toMake := r.childInputs(e, f, in)
	children := desiredChildren(e, toMake)
	if fetchesOnly(e, next) {
		children, apply = fetchChildren(e, toMake), r.ApplyChildren // nothing is removed
	}
	observed, err := apply(ctx, e, children...)
	r.notePublished(e, observed, toMake.identity)
	err = errors.Join(failed, err)
	if !e.Spec.Paused {
		r.reportPeers(ctx, e, observed, in)
		err = errors.Join(err, f.tellPods(ctx, e))
	}
	found, _ := converge.Find[*appsv1.StatefulSet](observed, "StatefulSet", e.Name)
	set := cmp.Or(found, &appsv1.StatefulSet{})
	err = errors.Join(err, r.settleClaims(ctx, e, f, in, cmp.Or(found, in.set)))
	growth, growthErr := r.growVolumes(ctx, e, f, next, in)
	err = errors.Join(err, growthErr)
	recheckPods, checkErr := r.checkPods(ctx, e, set, in.pods)
	err = errors.Join(err, checkErr)
	result := r.updateStatus(e, f, next, workload{set, in.allPods(), growth,
		clientCertificates{in.certificates, f.lagging(e, in.certificates.Published)}, in.logins, r.PodRefusal(e)})
	result.RequeueAfter = converge.Soonest(result.RequeueAfter, recheckPods)
	if e.Spec.Paused { // after all else is reported
		err = errors.Join(err, r.ReportPausedChanges(ctx, e, children...))
	}
	if err == nil && next.Changes() && !e.Spec.Paused {
		return ctrl.Result{RequeueAfter: time.Millisecond}, nil // and look at what came of it
	}
	return result, err
}

// checkPods finds out why members' pods are missing, unless spec.paused holds back what it may write.
func (r *Reconciler) checkPods(ctx context.Context, e *databasev1alpha1.EtcdCluster, set *appsv1.StatefulSet, pods []corev1.Pod) (time.Duration, error) {
	if e.Spec.Paused {
		return 0, nil
	}
	return r.CheckPods(ctx, e, set, pods, r.clock.Now())
}

// updateStatus sets the status: what was seen, what was just written, and what comes next.
func (r *Reconciler) updateStatus(e *databasev1alpha1.EtcdCluster, f *fleet, next membership.Step, w workload) ctrl.Result {
	now := r.clock.Now()
	known := r.memory.noteLook(e, f.World, now)
	r.memory.noteAccess(e, f.World, now)
	s := f.situation(e)
	restore, _ := s.NextRestore()
	waited, restoreWaited := r.memory.noteWaits(e, next, restore, now)
	if !known.isFleeting(f.World, now) {
		e.Status = newStatus(e, s, explained(known.excuse(next, now), s.Sees(), waited), w)
		e.Status.NextRestore = nextRestore(s, restore, restoreWaited, w)
	}
	return ctrl.Result{RequeueAfter: converge.Soonest(cmp.Or(next.RequeueAfter, restInterval), w.certificates.RecheckAfter,
		w.logins.recheckAfter(f.situation(e).Login(), now))}
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
	return r.SetUpController(mgr, &databasev1alpha1.EtcdCluster{}, appName, r.ProbingOptions(&databasev1alpha1.EtcdCluster{}), r, secrets, watchFetchPods(mgr), restores, backups)
}
