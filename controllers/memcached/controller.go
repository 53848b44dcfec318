// Package memcached reconciles Memcached objects: types → resources → controller → status.
package memcached

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// +kubebuilder:rbac:groups=cache.mainstay-operator.io,resources=memcacheds,verbs=get;list;watch
// +kubebuilder:rbac:groups=cache.mainstay-operator.io,resources=memcacheds/status,verbs=get;patch
// +kubebuilder:rbac:groups=cache.mainstay-operator.io,resources=memcacheds/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=statefulsets;deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services;configmaps;secrets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=monitoring.coreos.com,resources=servicemonitors,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Owned are the types of children: watched, and pruned when no longer desired.
var Owned = []ctrlclient.Object{
	&appsv1.StatefulSet{}, &appsv1.Deployment{}, &corev1.Service{}, &corev1.ConfigMap{}, &corev1.Secret{}, &policyv1.PodDisruptionBudget{},
	&networkingv1.NetworkPolicy{},
}

// optionalTypes are the types of children that a cluster may lack.
var optionalTypes = []schema.GroupVersionKind{
	schema.FromAPIVersionAndKind(*parts.ServiceMonitorType.APIVersion, *parts.ServiceMonitorType.Kind),
}

// Reconciler reconciles Memcached objects.
type Reconciler struct {
	converge.Converger
	// DefaultImage is the image that an object starts with when it names none.
	DefaultImage string
	// ExporterImage is the image that an exporter starts with when the object names none.
	ExporterImage string
	// Secrets reads the Secrets that users made.
	Secrets *converge.UserSecrets

	clock  clock.PassiveClock
	memory memory
}

// Reconcile runs one pass over one Memcached.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return converge.Reconcile(ctx, &r.Converger, req, &cachev1alpha1.Memcached{}, r.reconcile)
}

func (r *Reconciler) reconcile(ctx context.Context, m *cachev1alpha1.Memcached, _ converge.SaveStatus) (ctrl.Result, error) {
	running, err := r.GetStatefulSet(ctx, m) // first: the image that runs is preferred to a new default
	if err != nil {
		return ctrl.Result{}, err
	}
	image := r.image(m, running)
	s, secretsErr := r.readSecrets(ctx, m, running)
	apply := r.Converge
	if m.Spec.Paused || s.isIncomplete(m) {
		apply = r.ReadChildren
	}
	pods, podsErr := r.ListPods(ctx, m, appName)
	proxies, proxiesErr := r.ListPods(ctx, m, proxyAppName)
	proxy, proxyErr := r.getProxy(ctx, m)
	if err := errors.Join(podsErr, proxiesErr, proxyErr); err != nil {
		return ctrl.Result{}, err
	}
	children := desired(m, chooseDefaults(m, inputs{image: image, exporter: r.exporterImage(m, running), identity: s.certificate.Identity,
		users: s.users.published, operatorNamespace: r.Account.Namespace},
		converge.StatefulSetWorkload(running, pods, r.PodRefusal(m)), converge.DeploymentWorkload(proxy, proxies)))
	observed, err := apply(ctx, m, children...)
	var late []string
	var recheckAfter time.Duration
	if !m.Spec.Paused {
		late, recheckAfter = r.refreshCertificates(ctx, m, s, pods)
	}
	w := r.worldOf(m, observed, pods, proxies)
	w.usersUnusable = s.users.unusable()
	var recheckPods time.Duration
	if !m.Spec.Paused {
		w.certificateUnusable = s.certificate.inSync(late).Unusable()
		var checkErr error
		recheckPods, checkErr = r.CheckPods(ctx, m, w.set, pods, w.now)
		err = errors.Join(err, checkErr)
	}
	w.refusal = r.PodRefusal(m)
	m.Status = status(m, w) // also after an error: it says what is there
	if m.Spec.Paused {
		err = errors.Join(err, r.ReportPausedChanges(ctx, m, children...))
	} else { // only then somebody looked
		certificatesInSync(m, s.certificate, late)
	}
	credentialsInSync(m, s.users)
	conditions.SetUpdateAvailable(&m.Status.Conditions, m.Generation, image, m.Spec.Image, r.DefaultImage, conditions.BySettingImage)
	return ctrl.Result{RequeueAfter: converge.Soonest(recheckAfter, recheckPods, s.certificate.recheckAfter, untilDeadline(m, w))},
		errors.Join(secretsErr, err)
}

// worldOf collects what this pass saw.
func (r *Reconciler) worldOf(m *cachev1alpha1.Memcached, observed converge.Observed, pods, proxies []corev1.Pod) world {
	w := world{set: &appsv1.StatefulSet{}, proxy: &appsv1.Deployment{}, pods: pods, proxies: proxies, now: r.clock.Now()}
	if set, found := converge.Find[*appsv1.StatefulSet](observed, "StatefulSet", m.Name); found {
		w.set = set
	}
	if proxy, found := converge.Find[*appsv1.Deployment](observed, "Deployment", proxyName(m)); found {
		w.proxy = proxy
	}
	return w
}

// getProxy returns the proxy's Deployment, from the cache; empty when there is none.
func (r *Reconciler) getProxy(ctx context.Context, m *cachev1alpha1.Memcached) (*appsv1.Deployment, error) {
	proxy := &appsv1.Deployment{}
	if err := r.Get(ctx, types.NamespacedName{Namespace: m.Namespace, Name: proxyName(m)}, proxy); ctrlclient.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the proxy: %w", err)
	}
	return proxy, nil
}

// chooseDefaults returns the inputs with the defaults that each pod template is to be made with.
func chooseDefaults(m *cachev1alpha1.Memcached, c inputs, nodes, proxy converge.Workload) inputs {
	build := c
	c.defaults = converge.ChooseDefaults(nodes, func(d parts.Defaults) *corev1ac.PodTemplateSpecApplyConfiguration {
		build.defaults = d
		return nodeStatefulSet(m, build).Spec.Template
	})
	if hasProxy(m) {
		c.proxyDefaults = converge.ChooseDefaults(proxy, func(d parts.Defaults) *corev1ac.PodTemplateSpecApplyConfiguration {
			build.proxyDefaults = d
			return proxyDeployment(m, build).Spec.Template
		})
	}
	return c
}

// image is the spec's, else the one that runs, else the operator's default.
func (r *Reconciler) image(m *cachev1alpha1.Memcached, running *appsv1.StatefulSet) string {
	if m.Spec.Image != "" {
		return m.Spec.Image
	}
	return parts.RunningImage(running.Spec.Template.Spec.Containers, appName, r.DefaultImage)
}

// exporterImage is chosen in the same way.
func (r *Reconciler) exporterImage(m *cachev1alpha1.Memcached, running *appsv1.StatefulSet) string {
	if hasMetrics(m) && m.Spec.Metrics.Image != "" {
		return m.Spec.Metrics.Image
	}
	return parts.RunningImage(running.Spec.Template.Spec.Containers, exporter, r.ExporterImage)
}

// SetupWithManager starts the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.Owned, r.OptionalTypes = Owned, optionalTypes
	r.clock = clock.RealClock{}
	r.Finalize = func(_ context.Context, key types.NamespacedName) error {
		r.memory.Forget(key)
		r.Secrets.Forget(key)
		return nil
	}
	watched, err := r.Secrets.Watch(mgr, &cachev1alpha1.Memcached{}, &cachev1alpha1.MemcachedList{}, secretNames)
	if err != nil {
		return err
	}
	return r.SetUpController(mgr, &cachev1alpha1.Memcached{}, appName, r.ProbingOptions(&cachev1alpha1.Memcached{}), r, watched,
		source.Kind[ctrlclient.Object](mgr.GetCache(), &corev1.Pod{}, converge.EnqueueForInstance(proxyAppName)))
}
