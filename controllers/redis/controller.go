// Package redis runs Redis objects: a master and replicas that lose no confirmed write.
//
// A pass has six steps: read.go reads the API server; Look, in internal/fleet, asks the servers; Plan, in internal/topology, decides;
// Act, in internal/fleet, makes sure that only one operator acts, and acts; apply.go applies what follows; report.go sets the status.
//
// A master dies. What happens, in the order in which to read it:
//   - See: watchConnection in internal/wire/watch.go sees the end of the connection, startWatch in internal/fleet/watches.go wakes
//     the pass, and internal/fleet/look.go asks all servers.
//   - Decide: Plan in internal/topology/plan.go calls judgeMaster and failover in internal/topology/plan_failover.go.
//   - Act: internal/fleet/act.go makes sure that only one operator acts, and doPromote in internal/fleet/act_failover.go promotes.
//   - Route: route.go points the Service and its EndpointSlices at the new master.
//
// docs/architecture.md says why that is safe.
package redis

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/children"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fleet"
)

// +kubebuilder:rbac:groups=cache.mainstay-operator.io,resources=redis,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cache.mainstay-operator.io,resources=redis/status,verbs=get;patch
// +kubebuilder:rbac:groups=cache.mainstay-operator.io,resources=redis/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=statefulsets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services;secrets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,verbs=list;patch
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices/restricted,verbs=create
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Owned lists the types of children: they are watched, and pruned when no longer desired.
var Owned = []ctrlclient.Object{
	&appsv1.StatefulSet{}, &corev1.Service{}, &corev1.Secret{}, &policyv1.PodDisruptionBudget{}, &networkingv1.NetworkPolicy{},
}

// Reconciler makes Redis objects real.
type Reconciler struct {
	converge.Converger
	// DefaultImages are the images, by flavor, with which an object that names none starts.
	DefaultImages map[cachev1alpha1.RedisFlavor]string
	// OperatorImage has the program that fetches a backup.
	OperatorImage string
	// Secrets reads the Secrets that users made.
	Secrets *converge.UserSecrets

	clock    clock.PassiveClock
	memory   converge.Memory[objectMemory]
	watching fleet.Watching
}

// Reconcile runs one pass over one Redis.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return converge.Reconcile(ctx, &r.Converger, req, &cachev1alpha1.Redis{}, r.reconcile)
}

func (r *Reconciler) reconcile(ctx context.Context, redis *cachev1alpha1.Redis, save converge.SaveStatus) (ctrl.Result, error) {
	p, err := r.read(ctx, redis, save) // once
	if err != nil {
		return ctrl.Result{RequeueAfter: p.recheck}, err
	}
	defer p.Close()
	p.Look(ctx, p.acceptedSettings)
	if p.step, err = p.Act(ctx, p.Situation().Plan()); err != nil {
		return ctrl.Result{}, err
	}
	return p.report(ctx, p.apply(ctx))
}

// SetupWithManager starts the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.Owned = Owned
	r.clock = clock.RealClock{}
	r.watching = fleet.Watching{Wakeups: make(chan event.GenericEvent), SetLag: setLag}
	r.Finalize = func(_ context.Context, key types.NamespacedName) error {
		r.memory.Forget(key)
		r.Secrets.Forget(key)
		forgetMetrics(key)
		return nil
	}
	secrets, err := r.Secrets.Watch(mgr, &cachev1alpha1.Redis{}, &cachev1alpha1.RedisList{}, secretNames)
	if err != nil {
		return err
	}
	return r.SetUpController(mgr, &cachev1alpha1.Redis{}, config.AppName, r.ProbingOptions(&cachev1alpha1.Redis{}), r, secrets,
		source.Kind[ctrlclient.Object](mgr.GetCache(), &corev1.Pod{}, converge.EnqueueForInstance(children.RestoreAppName)),
		source.Kind[ctrlclient.Object](mgr.GetCache(), &corev1.PersistentVolumeClaim{}, converge.EnqueueForInstance(config.AppName)),
		source.Func(r.watching.NoteLeading),
		source.Channel(r.watching.Wakeups, &handler.EnqueueRequestForObject{}))
}

// secretNames returns the names of the user's Secrets that an object refers to.
func secretNames(redis ctrlclient.Object) []string {
	var names []string
	if auth := redis.(*cachev1alpha1.Redis).Spec.Auth; auth != nil {
		names = append(names, auth.SecretName)
	}
	if over := redis.(*cachev1alpha1.Redis).Spec.TLS; over != nil {
		names = append(names, over.SecretName)
	}
	return names
}
