package easyservice

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// status says what was observed.
func status(e *appv1.EasyService, observed converge.Observed, w world, r rollout) appv1.EasyServiceStatus {
	d := held(e, observed)
	service, _ := converge.Find[*corev1.Service](observed, "Service", e.Name)
	entry, _ := converge.Find[*networkingv1.Ingress](observed, "Ingress", e.Name)
	next := appv1.EasyServiceStatus{
		Replicas:            d.Status.Replicas,
		UpdatedReplicas:     d.Status.UpdatedReplicas,
		ReadyReplicas:       d.Status.ReadyReplicas,
		AvailableReplicas:   d.Status.AvailableReplicas,
		UnavailableReplicas: d.Status.UnavailableReplicas,
		TerminatingReplicas: d.Status.TerminatingReplicas,
		CollisionCount:      d.Status.CollisionCount,
		Selector:            parts.SelectorText(kind, e.Name),
		Image:               image(d.Spec.Template, w.pods),
		Endpoints:           endpoints(service, listening(d.Spec.Template.Spec.Containers), w.pods, entrances(e, entry)...),
		Conditions:          slices.Clone(e.Status.Conditions),
	}
	want := ptr.Deref(d.Spec.Replicas, size(e))
	why, starting, late := failing(e, d, w), conditions.Starting(w.pods), stuck(e, d, r, w.now) || overdue(e, d, r, w)
	conditions.FromWorkload(&next.Conditions, e.Generation, conditions.Workload{
		Generation: d.Generation,
		Observed:   d.Status.ObservedGeneration,
		Want:       want,
		Minimum:    want - mayMiss(d, want),
		Updated:    d.Status.UpdatedReplicas,
		Ready:      ready(e, d),
		Total:      d.Status.Replicas,
		Failing:    why,
		Starting:   starting,
		Stuck:      late,
	})
	next.LastRollout, next.StableReplicaSet = progress(e, r, outcome{
		stuck:   late,
		failing: cmp.Or(why, starting),
		done:    completed(next.Conditions, d),
		current: current(d, w.sets),
		stable:  find(w.sets, isNamed(e.Status.StableReplicaSet)) != nil,
	}, w.now)
	if r.given != r.asked {
		confess(&next.Conditions, e.Generation, next.LastRollout)
	}
	conditions.Pause(&next.Conditions, e.Generation, e.Spec.Paused)
	return next
}

// held is the Deployment as it stands; empty when there is none.
func held(e *appv1.EasyService, observed converge.Observed) *appsv1.Deployment {
	if d, found := converge.Find[*appsv1.Deployment](observed, "Deployment", e.Name); found {
		return d
	}
	return &appsv1.Deployment{}
}

// mayMiss is how many pods a rollout may take away, as the Deployment has it.
func mayMiss(d *appsv1.Deployment, want int32) int32 {
	rolling := d.Spec.Strategy.RollingUpdate
	if rolling == nil || rolling.MaxUnavailable == nil {
		return 0
	}
	count, err := intstr.GetScaledValueFromIntOrPercent(rolling.MaxUnavailable, int(want), false)
	if err != nil {
		return 0
	}
	return int32(min(count, int(want)))
}

// failing is why a pod does not start or go on, or why none can be made: a quota, say.
func failing(e *appv1.EasyService, d *appsv1.Deployment, w world) string {
	if why := conditions.FailingUntil(proven(e, w.now), w.pods); why != "" {
		return why
	}
	return conditions.Unmade(d)
}

func condition(d *appsv1.Deployment, kind appsv1.DeploymentConditionType) appsv1.DeploymentCondition {
	for _, c := range d.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return appsv1.DeploymentCondition{}
}
