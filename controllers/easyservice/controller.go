// Package easyservice reconciles EasyService objects: types → resources → controller → status.
package easyservice

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// +kubebuilder:rbac:groups=app.mainstay-operator.io,resources=easyservices,verbs=get;list;watch
// +kubebuilder:rbac:groups=app.mainstay-operator.io,resources=easyservices/status,verbs=get;patch
// +kubebuilder:rbac:groups=app.mainstay-operator.io,resources=easyservices/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=configmaps;secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingresses;networkpolicies,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=httproutes,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=monitoring.coreos.com,resources=servicemonitors,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Owned are the types of children: watched, and pruned when no longer desired.
var Owned = []client.Object{
	&appsv1.Deployment{}, &corev1.Service{}, &policyv1.PodDisruptionBudget{}, &networkingv1.Ingress{}, &networkingv1.NetworkPolicy{},
}

// optionalTypes are the types of children that a cluster may lack.
var optionalTypes = []schema.GroupVersionKind{
	schema.FromAPIVersionAndKind(*httpRouteType.APIVersion, *httpRouteType.Kind),
	schema.FromAPIVersionAndKind(*parts.ServiceMonitorType.APIVersion, *parts.ServiceMonitorType.Kind),
}

// Reconciler reconciles EasyService objects.
type Reconciler struct {
	converge.Converger
	// Secrets and ConfigMaps read those that users made.
	Secrets, ConfigMaps converge.ContentReader

	clock  clock.PassiveClock
	memory converge.Memory[objectMemory]
}

// Reconcile runs one pass over one EasyService.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return converge.Reconcile(ctx, &r.Converger, req, &appv1.EasyService{}, r.reconcile)
}

func (r *Reconciler) reconcile(ctx context.Context, e *appv1.EasyService, _ converge.SaveStatus) (ctrl.Result, error) {
	w, err := r.readWorld(ctx, e) // first: what the cluster gave a port stays with it
	if err != nil {
		return ctrl.Result{}, err
	}
	config, missing, err := r.configDigest(ctx, e, w.runningConfig)
	if err != nil {
		return ctrl.Result{}, err
	}
	specTemplate := withDefaults(e, template(e, config), chooseDefaults(e, config, w))
	podTemplate := templateToApply(e, specTemplate, missing != nil, w.replicaSets)
	accountErr := rejectManagerAccount(podTemplate.Spec, e.Namespace, r.Account)
	apply, observeOnly := r.Converge, e.Spec.Paused || accountErr != nil || missing != nil && !w.deploymentExists
	if observeOnly { // nothing starts before what it is configured with is there, nor as the manager
		apply = r.ReadChildren
	}
	children := desired(e, podTemplate, w)
	observed, err := apply(ctx, e, children...)
	thisRollout := rolloutRequest{specHash: templateHash(specTemplate), appliedHash: templateHash(podTemplate),
		deploymentApplied: converge.ChildSucceeded(err, "Deployment", e.Name) && !observeOnly && missing == nil}
	e.Status = status(e, observed, w, thisRollout) // last, also after an error: it says what stands
	if e.Spec.Paused {
		err = errors.Join(err, r.ReportPausedChanges(ctx, e, children...))
	}
	return ctrl.Result{RequeueAfter: untilDeadline(e, observedDeployment(e, observed), w)}, errors.Join(missing, accountErr, err)
}

// world is what one pass saw, read once.
type world struct {
	servicePorts     []corev1.ServicePort   // ports of the Service as it stands
	deploymentExists bool                   // there is a Deployment
	runningConfig    string                 // digest of what configRefs named when it was made
	running          corev1.PodTemplateSpec // template of the Deployment
	noPods           bool                   // it is known why the Deployment has none
	replicaSets      []appsv1.ReplicaSet    // of the Deployment
	pods             []corev1.Pod
	now              metav1.Time
}

func (r *Reconciler) readWorld(ctx context.Context, e *appv1.EasyService) (world, error) {
	w, key := world{now: metav1.NewTime(r.clock.Now()).Rfc3339Copy()}, client.ObjectKeyFromObject(e)
	var service corev1.Service
	if err := r.Get(ctx, key, &service); client.IgnoreNotFound(err) != nil {
		return w, fmt.Errorf("reading the ports that the Service holds: %w", err)
	}
	w.servicePorts = service.Spec.Ports
	var deployment appsv1.Deployment
	if err := r.Get(ctx, key, &deployment); client.IgnoreNotFound(err) != nil {
		return w, fmt.Errorf("reading what the Deployment was made with: %w", err)
	}
	w.running = deployment.Spec.Template
	w.deploymentExists, w.runningConfig = deployment.UID != "", deployment.Spec.Template.Annotations[annotationConfig]
	var replicaSets appsv1.ReplicaSetList
	if err := r.ListControlled(ctx, &deployment, &replicaSets); err != nil {
		return w, fmt.Errorf("listing the ReplicaSets: %w", err)
	}
	w.replicaSets = replicaSets.Items
	for i := range w.replicaSets { // what is rolled back to is needed whole
		replicaSet := &w.replicaSets[i]
		if replicaSet.Name != e.Status.StableReplicaSet || !converge.IsTrimmed(replicaSet) {
			continue
		}
		if err := r.Get(ctx, client.ObjectKeyFromObject(replicaSet), replicaSet); err != nil {
			return w, fmt.Errorf("reading the ReplicaSet of the last completed rollout: %w", err)
		}
	}
	var err error
	w.pods, err = r.ListPods(ctx, e, appName)
	w.noPods = converge.DeploymentWorkload(&deployment, w.pods).NoPods
	return w, err
}

// SetupWithManager starts the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.Owned, r.OptionalTypes, r.clock = Owned, optionalTypes, clock.RealClock{}
	r.Finalize = func(_ context.Context, key types.NamespacedName) error {
		r.memory.Forget(key)
		return nil
	}
	if err := converge.IndexOwners(context.Background(), mgr.GetFieldIndexer(), mgr.GetScheme(), &appsv1.ReplicaSet{}); err != nil {
		return err
	}
	secrets, err := r.Secrets.Watch(mgr, &appv1.EasyService{}, &appv1.EasyServiceList{}, configRefNames(appv1.Secret))
	if err != nil {
		return err
	}
	configMaps, err := r.ConfigMaps.Watch(mgr, &appv1.EasyService{}, &appv1.EasyServiceList{}, configRefNames(appv1.ConfigMap))
	if err != nil {
		return err
	}
	replicaSets := source.Kind(mgr.GetCache(), client.Object(&appsv1.ReplicaSet{}), converge.EnqueueForInstance(appName))
	return r.SetUpController(mgr, &appv1.EasyService{}, appName, r.Options(&appv1.EasyService{}), r, secrets, configMaps, replicaSets)
}
