// Package easyservice runs EasyService objects: types → resources → controller → status.
package easyservice

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// +kubebuilder:rbac:groups=app.mainstay-operator.io,resources=easyservices,verbs=get;list;watch
// +kubebuilder:rbac:groups=app.mainstay-operator.io,resources=easyservices/status,verbs=get;patch
// +kubebuilder:rbac:groups=app.mainstay-operator.io,resources=easyservices/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=httproutes,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=monitoring.coreos.com,resources=servicemonitors,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Owned are the types of children: watched, and pruned when no longer desired.
var Owned = []client.Object{
	&appsv1.Deployment{}, &corev1.Service{}, &policyv1.PodDisruptionBudget{}, &networkingv1.NetworkPolicy{},
}

// extended are types of children that a cluster may lack.
var extended = []schema.GroupVersionKind{
	schema.FromAPIVersionAndKind(*httpRouteType.APIVersion, *httpRouteType.Kind),
	schema.FromAPIVersionAndKind(*parts.ServiceMonitorType.APIVersion, *parts.ServiceMonitorType.Kind),
}

// Reconciler makes EasyService objects real.
type Reconciler struct {
	converge.Converger
}

// Reconcile runs one pass over one EasyService.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return converge.Reconcile(ctx, &r.Converger, req, &appv1.EasyService{}, r.story)
}

func (r *Reconciler) story(ctx context.Context, e *appv1.EasyService, _ converge.Save) (ctrl.Result, error) {
	held, err := r.heldPorts(ctx, e) // first: what the cluster gave a port stays with it
	if err != nil {
		return ctrl.Result{}, err
	}
	move := r.Converge
	if e.Spec.Paused {
		move = r.Observe
	}
	observed, err := move(ctx, e, desired(e, held)...)
	pods, podsErr := r.Pods(ctx, e, kind)
	if podsErr != nil {
		return ctrl.Result{}, podsErr
	}
	e.Status = status(e, observed, pods) // last, also after an error: it says what stands
	return ctrl.Result{}, err
}

// heldPorts are the ports of the Service as it stands; none when there is no Service.
func (r *Reconciler) heldPorts(ctx context.Context, e *appv1.EasyService) ([]corev1.ServicePort, error) {
	var service corev1.Service
	if err := r.Get(ctx, client.ObjectKeyFromObject(e), &service); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the ports that the Service holds: %w", err)
	}
	return service.Spec.Ports, nil
}

// SetupWithManager starts the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.Owned, r.Extended = Owned, extended
	return r.Manage(mgr, &appv1.EasyService{}, kind, r)
}
