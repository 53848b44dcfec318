// Package etcd reconciles EtcdClusters: types → resources → controller → status. What is done next is decided in
// internal/membership; internal/wire speaks with the servers.
package etcd

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
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
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
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;patch
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
		r.reportPeers(e, observed, in)
		err = errors.Join(err, f.tellPods(ctx, e))
	}
	growth, growthErr := r.growVolumes(ctx, e, f, next, in)
	err = errors.Join(err, growthErr)
	set, _ := converge.Find[*appsv1.StatefulSet](observed, "StatefulSet", e.Name)
	result := r.updateStatus(e, f, next, workload{cmp.Or(set, &appsv1.StatefulSet{}), in.allPods(), growth,
		clientCertificates{in.certificates, f.lagging(e, in.certificates.Published)}, in.logins})
	if e.Spec.Paused { // after all else is reported
		err = errors.Join(err, r.ReportPausedChanges(ctx, e, children...))
	}
	if err == nil && next.Changes() && !e.Spec.Paused {
		return ctrl.Result{RequeueAfter: time.Millisecond}, nil // and look at what came of it
	}
	return result, err
}

// inputs are what the API server has of an object, by the caches.
type inputs struct {
	set      *appsv1.StatefulSet // empty when there is none or it is not ours
	pods     []corev1.Pod
	fetches  []corev1.Pod                             // that have fetched backups
	requests []databasev1alpha1.EtcdRestore           // of this cluster, the oldest first
	backups  []databasev1alpha1.EtcdBackup            // in the namespace, by name
	claims   map[string]*corev1.PersistentVolumeClaim // by the pod's name
	// peers are the certificates to publish now; peersChange says why they are others than before.
	peers       peerCertificates
	peersChange string
	// lost says what must be mended before anything is written; nil if there is nothing.
	lost *membership.Step
	// certificates are those that clients are shown, with tls.
	certificates pki.Certificates
	// logins are who may log in, with auth.
	logins logins
}

func (r *Reconciler) read(ctx context.Context, e *databasev1alpha1.EtcdCluster, spec membership.Spec) (in inputs, err error) {
	var isCopied bool
	if in.certificates, isCopied, err = r.readCertificates(ctx, e, spec); err != nil { // first: without them no member can be asked
		return in, err
	}
	if in.logins, err = r.readLogins(ctx, e, spec); err != nil {
		return in, err
	}
	if in.set, err = r.GetStatefulSet(ctx, e); err != nil {
		return in, err
	}
	if in.pods, err = r.listPods(ctx, e, spec, in.set); err != nil {
		return in, err
	}
	in.recallTemplate()
	if in.fetches, err = r.listFetchPods(ctx, e); err != nil {
		return in, err
	}
	if in.requests, err = r.listRequests(ctx, e); err != nil {
		return in, err
	}
	if in.backups, err = listBackups(ctx, r.Client, e.Namespace); err != nil {
		return in, err
	}
	if in.claims, err = converge.ListClaims(ctx, r.Client, ctrlclient.ObjectKeyFromObject(e), appName, dataVolume); err != nil {
		return in, err
	}
	if !isCopied {
		in.lost = certificatesLost(e, in.pods, in.certificates.Published, r.clock.Now())
	}
	in.peers, in.peersChange, err = r.peerCertificates(ctx, e, spec, in.pods)
	if errors.Is(err, errTrustLost) {
		in.lost, err = trustLost(e), nil // it is reported
	}
	return in, err
}

// recallTemplate has the pods of a StatefulSet that is being made anew tell what it was made from.
func (in *inputs) recallTemplate() {
	if in.set.UID == "" && len(in.pods) > 0 {
		in.set.Spec.Template = converge.TemplateOf(&in.pods[0])
	}
}

// updateStatus sets the status: what was seen, what was just written, and what comes next.
func (r *Reconciler) updateStatus(e *databasev1alpha1.EtcdCluster, f *fleet, next membership.Step, w workload) ctrl.Result {
	now := r.clock.Now()
	known := r.memory.noteLook(e, f.World, now)
	r.memory.noteAccess(e, f.World, now)
	if !known.isFleeting(f.World, now) {
		e.Status = newStatus(e, f.situation(e), known.excuse(next, now), w)
	}
	return ctrl.Result{RequeueAfter: converge.Soonest(cmp.Or(next.RequeueAfter, restInterval), w.certificates.RecheckAfter,
		w.logins.recheckAfter(f.situation(e).Login(), now))}
}

// resolve returns the spec with every default.
func resolve(e *databasev1alpha1.EtcdCluster, defaultImages []string) membership.Spec {
	spec := membership.Spec{Name: e.Name, Namespace: e.Namespace, Size: ptr.Deref(e.Spec.Size, 3), HasStorage: e.Spec.Storage != nil, Image: e.Spec.Image, DefaultImages: defaultImages,
		RequiresLogin: e.Spec.Auth != nil, FromBackup: e.Spec.Bootstrap != nil, Quota: quota(e, volumeSize(e, &appsv1.StatefulSet{})),
		AllowedRecovery: e.Annotations[databasev1alpha1.EtcdAllowUnsafeRecovery]}
	if e.Spec.Defrag != nil {
		spec.DefragThreshold = e.Spec.Defrag.Threshold
	}
	running, _ := membership.ParseVersion(e.Status.TargetVersion) // none is that of a new cluster
	var err error
	if spec.Wanted, err = membership.ResolveVersion(e.Spec.Version, running); err != nil {
		spec.WantedError = err.Error()
	}
	return spec
}

// listPods returns the pods of the members: those of the StatefulSet, and those that one made anew is yet to take back. Others under
// our labels are nobody's.
func (r *Reconciler) listPods(ctx context.Context, e *databasev1alpha1.EtcdCluster, spec membership.Spec, set *appsv1.StatefulSet) ([]corev1.Pod, error) {
	all, err := r.ListPods(ctx, e, appName)
	var own []corev1.Pod
	for _, pod := range all {
		ordinal := membership.Ordinal(pod.Name)
		if ordinal < 0 || pod.Name != spec.MemberName(ordinal) {
			continue
		}
		if owner := metav1.GetControllerOf(&pod); owner == nil || owner.UID == set.UID || isOnRecord(e, &pod) {
			own = append(own, pod)
		}
	}
	return own, err
}

// isOnRecord reports whether a pod was told to start as the member that is on record under its name. Such a pod is the member's
// whoever the cache says it belongs to.
func isOnRecord(e *databasev1alpha1.EtcdCluster, pod *corev1.Pod) bool {
	permit, told := membership.ParsePermit(pod.Annotations[annotationPermit])
	return told && permit.Pod == string(pod.UID) && e.Status.Membership != nil &&
		slices.ContainsFunc(e.Status.Membership.Members, func(one databasev1alpha1.EtcdRecordedMember) bool {
			return one.Name == pod.Name && one.DataID == permit.Data
		})
}

func (r *Reconciler) childInputs(e *databasev1alpha1.EtcdCluster, f *fleet, in inputs) childInputs {
	version, _ := membership.ParseVersion(e.Status.TargetVersion) // both are set when there is a record, and without one there are no pods
	c := childInputs{spec: f.spec, image: e.Status.TargetImage, version: version, operatorNamespace: r.Account.Namespace,
		peers: in.peers, identity: f.nextIdentity(e, in.certificates, r.clock.Now()),
		launcherImage: parts.RunningImage(in.set.Spec.Template.Spec.InitContainers, "launcher", r.LauncherImage),
		pods:          membership.Situation{Spec: f.spec, Status: &e.Status}.DesiredPods(),
		restartedAt:   in.set.Spec.Template.Annotations[parts.AnnotationRestartedAt],
		logins:        f.nextLogins(e, in.logins),
		volumeSize:    volumeSize(e, in.set)}
	if e.Status.Membership != nil {
		c.initialVersion = e.Status.Membership.InitialVersion
	}
	return c
}

// volumeSize is the size of new members' volumes; 0 without storage.
func volumeSize(e *databasev1alpha1.EtcdCluster, set *appsv1.StatefulSet) resource.Quantity {
	if e.Spec.Storage == nil {
		return resource.Quantity{}
	}
	return volumes.SizeOfNew(set, e.Spec.Storage.Size)
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
	return r.SetUpController(mgr, &databasev1alpha1.EtcdCluster{}, appName, converge.ProbingOptions(), r, secrets, watchFetchPods(mgr), watchRequests(mgr), watchBackups(mgr))
}
