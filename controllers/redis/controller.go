// Package redis runs Redis objects: a master and replicas that lose no confirmed write.
//
// What happens when a master dies is in five files, to be read in this order: controller.go has the order of a pass; fleet.go
// looks; internal/topology/plan_failover.go decides; perform.go sees that only one operator acts; act_failover.go acts.
// docs/architecture.md says what happens, and why it is safe.
package redis

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
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

	clock  clock.PassiveClock
	memory memory
}

// Reconcile runs one pass over one Redis.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return converge.Reconcile(ctx, &r.Converger, req, &cachev1alpha1.Redis{}, r.reconcile)
}

func (r *Reconciler) reconcile(ctx context.Context, redis *cachev1alpha1.Redis, save converge.SaveStatus) (ctrl.Result, error) {
	replaceFormerReason(redis.Status.LastFailover)
	spec := config.Resolve(redis)
	secrets, err := r.readSecrets(ctx, redis, spec) // first: without them no server can be asked
	if err != nil {
		return ctrl.Result{RequeueAfter: secrets.certificates.RecheckAfter}, err // which time may mend
	}
	set, pods, err := r.getWorkload(ctx, redis, spec)
	if err != nil {
		return ctrl.Result{}, err
	}
	nodeVolumes, err := r.listVolumes(ctx, redis, spec)
	if err != nil {
		return ctrl.Result{}, err
	}
	source, err := r.getSource(ctx, redis, spec)
	if err != nil {
		return ctrl.Result{}, err
	}
	outside := &apiEffects{Reconciler: r, redis: redis, set: set, pods: pods, saveStatus: save}
	f := r.openFleet(ctx, redis, spec, pods, source, set, secrets, outside) // read once, into a value
	defer func() { r.closeFleet(redis, f) }()
	f.Volumes, outside.fleet = nodeVolumes, f
	r.memory.watchServers(ctx, redis, spec.ProbeInterval, f.addresses(), f.certificates.TLSConfig, r.clock)

	next := f.situation(redis).Plan() // one decision, pure
	if redis.Spec.Paused {
		observed, err := r.ReadChildren(ctx, redis, desiredChildren(redis, r.childInputs(redis, set, pods, f))...)
		result := r.updateStatus(redis, f, next, observed, pods)
		r.takeAcceptedSettings(redis, f) // as it will be
		return result, errors.Join(err, r.ReportPausedChanges(ctx, redis, desiredChildren(redis, r.childInputs(redis, set, pods, f))...))
	}
	if next, err = r.executeWithTimeout(ctx, redis, f, next); err != nil {
		return ctrl.Result{}, err
	}
	r.publishPassword(redis, f)
	rotated := r.rotatePasswords(redis, f)
	r.takeAcceptedSettings(redis, f)
	r.memory.keepSettings(redis, f.Settings)
	// The children come after the act: the Service follows the master of record.
	led, err := f.route(ctx)
	if led {
		err = errors.Join(err, r.reportMasterChange(ctx, redis, f))
	}
	if err != nil {
		return r.updateStatus(redis, f, next, outside.observed, pods), err
	}
	if retired := r.startPasswordOverlap(redis, f); retired || rotated || next.Changes() {
		return ctrl.Result{RequeueAfter: time.Millisecond}, nil // and look at what came of it
	}
	err = errors.Join(r.writePodRoles(ctx, outdatedPodRoles(f.situation(redis), pods)), writeStamps(ctx, redis, f, f.situation(redis).VolumesInSync()),
		r.settleClaims(ctx, redis, f, outside), r.growVolumes(ctx, redis, f, set))
	recheckPods, checkErr := r.CheckPods(ctx, redis, set, pods, r.clock.Now())
	result := r.updateStatus(redis, f, next, outside.observed, pods)
	result.RequeueAfter = converge.Soonest(result.RequeueAfter, recheckPods)
	return result, errors.Join(err, checkErr)
}

// updateStatus sets the status: what was seen, what was just written, and what comes next.
func (r *Reconciler) updateStatus(redis *cachev1alpha1.Redis, f *fleet, next topology.Step, observed converge.Observed, pods []corev1.Pod) ctrl.Result {
	set, found := converge.Find[*appsv1.StatefulSet](observed, "StatefulSet", redis.Name)
	if !found {
		set = &appsv1.StatefulSet{}
	}
	s := f.situation(redis)
	if s.IsUnconfirmed() && next.Do != topology.Block { // what the status says of the servers that were not asked still holds
		return ctrl.Result{RequeueAfter: cmp.Or(next.RequeueAfter, time.Second)}
	}
	redis.Status = newStatus(redis, s, next, workload{set, pods, r.PodRefusal(redis)})
	setMargin(s)
	setCertificatesInSync(&redis.Status.Conditions, redis.Generation, s, f.certificates)
	conditions.SetUpdateAvailable(&redis.Status.Conditions, redis.Generation, r.image(redis, s.Flavor, set), redis.Spec.Image, r.DefaultImages[s.Flavor], conditions.BySettingImage)
	setCredentialsInSync(&redis.Status.Conditions, redis.Generation, s, f.credentials)
	setBlocked(&redis.Status.Conditions, redis.Generation, next)
	requeues := []time.Duration{next.RequeueAfter, f.credentials.RecheckAfter(r.clock.Now()), f.certificates.RecheckAfter,
		max(0, topology.OldClientTime-f.SinceRouted), recheckClaims(redis, s)}
	if f.GrowthRefusal != "" {
		requeues = append(requeues, volumes.RetryAfter)
	}
	return ctrl.Result{RequeueAfter: converge.Soonest(requeues...)}
}

func (r *Reconciler) microNow() *metav1.MicroTime { return ptr.To(metav1.NewMicroTime(r.clock.Now())) }

// getWorkload returns the StatefulSet, empty when there is none, and its pods.
func (r *Reconciler) getWorkload(ctx context.Context, redis *cachev1alpha1.Redis, spec config.Spec) (*appsv1.StatefulSet, []corev1.Pod, error) {
	set, err := r.GetStatefulSet(ctx, redis)
	if err != nil {
		return nil, nil, err
	}
	all, err := r.ListPods(ctx, redis, appName)
	var own []corev1.Pod
	for _, pod := range all {
		if !spec.IsNode(pod.Name) {
			continue // somebody else's pod under our labels
		}
		// A pod of an earlier object of this name is nobody's node. One on record is
		// ours, also while a StatefulSet that was made anew takes its pods back.
		if owner := metav1.GetControllerOf(&pod); owner == nil || set.UID == "" || owner.UID == set.UID || isOnRecord(redis, pod.UID) {
			own = append(own, pod)
		}
	}
	if set.UID == "" && len(own) > 0 { // what its pods were made from, they still tell
		set.Spec.Template = converge.TemplateOf(&own[0])
	}
	return set, own, err
}

func isOnRecord(redis *cachev1alpha1.Redis, pod types.UID) bool {
	rep := redis.Status.Replication
	return rep != nil && (rep.Master.PodUID == pod ||
		slices.ContainsFunc(rep.SyncSet, func(p cachev1alpha1.RedisProcess) bool { return p.PodUID == pod }))
}

func (r *Reconciler) childInputs(redis *cachev1alpha1.Redis, set *appsv1.StatefulSet, pods []corev1.Pod, f *fleet) childInputs {
	c := childInputs{spec: f.spec, credentials: f.credentials, settings: f.Settings, image: r.image(redis, f.spec.Flavor, set), replicas: f.situation(redis).DesiredPods(), identity: r.publishIdentity(redis, f),
		restartedAt: set.Spec.Template.Annotations[parts.AnnotationRestartedAt], operatorNamespace: r.Account.Namespace}
	if f.spec.Storage != nil {
		c.volumeSize = volumes.SizeOfNew(set, f.spec.Storage.Size)
	}
	c.defaults = chooseDefaults(redis, c, converge.StatefulSetWorkload(set, pods, r.PodRefusal(redis)))
	return c
}

func chooseDefaults(redis *cachev1alpha1.Redis, c childInputs, live converge.Workload) parts.Defaults {
	return converge.ChooseDefaults(live, func(d parts.Defaults) *corev1ac.PodTemplateSpecApplyConfiguration {
		c.defaults = d
		return statefulSet(redis, c).Spec.Template
	})
}

// image returns the spec's image, else the one that runs, else the operator's default.
func (r *Reconciler) image(redis *cachev1alpha1.Redis, flavor cachev1alpha1.RedisFlavor, set *appsv1.StatefulSet) string {
	if redis.Spec.Image != "" {
		return redis.Spec.Image
	}
	return parts.RunningImage(set.Spec.Template.Spec.Containers, appName, r.DefaultImages[flavor])
}

// SetupWithManager starts the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.Owned = Owned
	r.clock = clock.RealClock{}
	r.memory.events = make(chan event.GenericEvent)
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
	b := ctrl.NewControllerManagedBy(mgr).For(&cachev1alpha1.Redis{}).
		Watches(&corev1.Pod{}, converge.EnqueueForInstance(appName)).
		Watches(&corev1.Pod{}, converge.EnqueueForInstance(restoreAppName)).
		Watches(&corev1.PersistentVolumeClaim{}, converge.EnqueueForInstance(appName)).
		WatchesRawSource(secrets).
		WatchesRawSource(source.Func(r.memory.noteLeading)).
		WatchesRawSource(source.Channel(r.memory.events, &handler.EnqueueRequestForObject{}))
	for _, child := range Owned {
		b.Owns(converge.AsCached(child))
	}
	return b.WithOptions(r.ProbingOptions(&cachev1alpha1.Redis{})).Complete(r)
}
