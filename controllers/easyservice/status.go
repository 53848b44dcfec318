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

// status returns the status that follows from what was observed.
func status(e *appv1.EasyService, observed converge.Observed, w world, r rolloutRequest) appv1.EasyServiceStatus {
	d := observedDeployment(e, observed)
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
		Selector:            parts.SelectorString(appName, e.Name),
		Image:               runningImageID(d.Spec.Template, w.pods),
		Endpoints:           endpoints(service, listenerOf(d.Spec.Template.Spec.Containers), w.pods, ingressEndpoints(e, entry)...),
		Conditions:          slices.Clone(e.Status.Conditions),
	}
	want := ptr.Deref(d.Spec.Replicas, size(e))
	why, starting, late := failureReason(e, d, w), conditions.FirstStartupWait(w.pods),
		isRolloutStuck(e, d, r, w.now) || isRolloutOverdue(e, d, r, w)
	workload := conditions.Workload{
		Generation:         d.Generation,
		ObservedGeneration: d.Status.ObservedGeneration,
		Desired:            want,
		MinReady:           want - maxUnavailable(d, want),
		Updated:            d.Status.UpdatedReplicas,
		Ready:              readyReplicas(e, d),
		Total:              d.Status.Replicas,
		Failure:            why,
		StartupWait:        starting,
		DeadlineExceeded:   late,
	}
	conditions.SetFromWorkload(&next.Conditions, e.Generation, workload)
	next.LastRollout, next.StableReplicaSet = advanceRollout(e, r, rolloutOutcome{
		stuck:             late,
		failing:           cmp.Or(why, starting),
		done:              isCompleted(next.Conditions, d),
		currentReplicaSet: currentReplicaSet(d, w.replicaSets),
		stableExists:      findReplicaSet(w.replicaSets, isNamed(e.Status.StableReplicaSet)) != nil,
	}, w.now)
	undone := rolledBack(r, next.LastRollout)
	conditions.Halt(&next.Conditions, e.Generation, undone)
	conditions.SetDegraded(&next.Conditions, e.Generation, undone, workload.PodFailing(e.Status.Conditions), workload.Overdue())
	conditions.SetPaused(&next.Conditions, e.Generation, e.Spec.Paused)
	return next
}

// observedDeployment is the Deployment as it stands; empty when there is none.
func observedDeployment(e *appv1.EasyService, observed converge.Observed) *appsv1.Deployment {
	if d, found := converge.Find[*appsv1.Deployment](observed, "Deployment", e.Name); found {
		return d
	}
	return &appsv1.Deployment{}
}

// maxUnavailable is how many pods a rollout may take away, as the Deployment has it.
func maxUnavailable(d *appsv1.Deployment, want int32) int32 {
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

// failureReason is why a pod does not start or keep running, or why none can be made: a quota, say.
func failureReason(e *appv1.EasyService, d *appsv1.Deployment, w world) string {
	if why := conditions.FirstFailureUntil(isAvailable(e, w.now), w.pods); why != "" {
		return why
	}
	return conditions.ReplicaFailure(d, "spec.resources")
}

func findCondition(d *appsv1.Deployment, conditionType appsv1.DeploymentConditionType) appsv1.DeploymentCondition {
	for _, c := range d.Status.Conditions {
		if c.Type == conditionType {
			return c
		}
	}
	return appsv1.DeploymentCondition{}
}
