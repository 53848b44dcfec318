package easyservice

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

const (
	// unprobedReadySeconds is minReadySeconds where no readiness probe asks the container. A container that keeps
	// stopping soon after its start is not ready from each stop to the next start, so its pod is never ready for so
	// long.
	unprobedReadySeconds = 10
	// defaultProgressDeadline is progressDeadlineSeconds unless chosen, as the API server has it.
	defaultProgressDeadline = 600
	// reasonDeadlineExceeded is the Deployment controller's reason for a rollout that got stuck
	// (k8s.io/kubernetes/pkg/controller/deployment/util: TimedOutReason).
	reasonDeadlineExceeded = "ProgressDeadlineExceeded"
	// reasonResumed is the Deployment controller's reason for a rollout that a human let continue
	// (k8s.io/kubernetes/pkg/controller/deployment/util: ResumedDeployReason).
	reasonResumed = "DeploymentResumed"
)

// isUnprobed reports whether the containers count as ready as soon as they run.
func isUnprobed(e *appv1.EasyService) bool {
	return ptr.Deref(e.Spec.Probes, appv1.Probes{}).Readiness == nil && tcpProbe(e.Spec.Ports) == nil
}

// minReadySeconds is the user's, else a trial period where running is all that is known; the API server wants it below
// the deadline.
func minReadySeconds(e *appv1.EasyService) int32 {
	s := ptr.Deref(e.Spec.Strategy, appv1.Strategy{})
	if s.MinReadySeconds > 0 || !isUnprobed(e) {
		return s.MinReadySeconds
	}
	return min(unprobedReadySeconds, ptr.Deref(s.ProgressDeadlineSeconds, defaultProgressDeadline)-1)
}

// readyReplicas is how many pods count as ready: of unprobed ones, those that have kept running for minReadySeconds.
func readyReplicas(e *appv1.EasyService, d *appsv1.Deployment) int32 {
	if isUnprobed(e) {
		return d.Status.AvailableReplicas
	}
	return d.Status.ReadyReplicas
}

// availableAt is when a pod will have been ready for minReadySeconds, maybe in the past, and whether it is ready.
func availableAt(e *appv1.EasyService, pod *corev1.Pod) (time.Time, bool) {
	since, ready := conditions.ReadySince(pod)
	return since.Add(time.Duration(minReadySeconds(e)) * time.Second), ready
}

// isAvailable returns a function that reports whether a pod has been ready for minReadySeconds.
func isAvailable(e *appv1.EasyService, now metav1.Time) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool {
		at, ready := availableAt(e, pod)
		return ready && !at.After(now.Time)
	}
}

// lastProgress is when a pod last advanced the rollout: when it became available, or will if it does not keep stopping;
// else when it was created.
func lastProgress(e *appv1.EasyService, pod *corev1.Pod, now metav1.Time) time.Time {
	if at, ready := availableAt(e, pod); ready && (!at.After(now.Time) || !conditions.HasCrashLooped(pod)) {
		return at
	}
	return pod.CreationTimestamp.Time
}

// rolloutDeadline is when a rollout that runs is beyond its deadline, by the progress of its pods. To the Deployment
// controller every start of a pod that keeps stopping is progress; here it is not. There is no deadline without a pod,
// nor while a human holds the rollout with kubectl rollout pause.
func rolloutDeadline(e *appv1.EasyService, d *appsv1.Deployment, pods []corev1.Pod, now metav1.Time) (time.Time, bool) {
	last, hasPods := e.Status.LastRollout, false
	if last == nil || last.Result != appv1.RolloutRunning || size(e) == 0 || d.Spec.Paused {
		return time.Time{}, false
	}
	moved := last.StartTime.Time
	if c := findCondition(d, appsv1.DeploymentProgressing); c.Reason == reasonResumed && c.LastUpdateTime.After(moved) {
		moved = c.LastUpdateTime.Time
	}
	for i := range pods {
		if !conditions.IsActive(&pods[i]) {
			continue
		}
		hasPods = true
		if at := lastProgress(e, &pods[i], now); at.After(moved) {
			moved = at
		}
	}
	return moved.Add(progressDeadline(e)), hasPods
}

// progressDeadline is how long a rollout may make no progress.
func progressDeadline(e *appv1.EasyService) time.Duration {
	chosen := ptr.Deref(e.Spec.Strategy, appv1.Strategy{}).ProgressDeadlineSeconds
	return time.Duration(ptr.Deref(chosen, defaultProgressDeadline)) * time.Second
}

// deadlineExceededAt is from when on the Deployment controller's verdict holds for the latest rollout, and whether
// there is a verdict. The controller leaves the one on an earlier rollout standing until the next makes progress, so
// the latest is first given its own progressDeadline.
func deadlineExceededAt(e *appv1.EasyService, d *appsv1.Deployment) (time.Time, bool) {
	c, last := findCondition(d, appsv1.DeploymentProgressing), ptr.Deref(e.Status.LastRollout, appv1.Rollout{})
	at := last.StartTime.Time
	if !c.LastUpdateTime.After(at) {
		at = at.Add(progressDeadline(e))
	}
	return at, c.Status == corev1.ConditionFalse && c.Reason == reasonDeadlineExceeded && d.Status.ObservedGeneration == d.Generation
}

// isRolloutStuck reports whether the Deployment controller has given up a rollout that does not start only now.
func isRolloutStuck(e *appv1.EasyService, d *appsv1.Deployment, r rolloutRequest, now metav1.Time) bool {
	at, given := deadlineExceededAt(e, d)
	starts := r.deploymentApplied && (e.Status.LastRollout == nil || e.Status.LastRollout.Template != r.specHash)
	return given && !starts && !at.After(now.Time)
}

// isRolloutOverdue reports whether the rollout of what the Deployment holds is beyond its rolloutDeadline.
func isRolloutOverdue(e *appv1.EasyService, d *appsv1.Deployment, r rolloutRequest, w world) bool {
	at, runs := rolloutDeadline(e, d, w.pods, w.now)
	return runs && r.deploymentApplied && r.appliedHash == r.specHash && r.specHash == e.Status.LastRollout.Template && !at.After(w.now.Time)
}

// untilDeadline is how soon to look again at a rollout that runs; 0 is never.
func untilDeadline(e *appv1.EasyService, d *appsv1.Deployment, w world) time.Duration {
	if at, given := deadlineExceededAt(e, d); given && at.After(w.now.Time) {
		return at.Sub(w.now.Time) // no later than it ends otherwise
	}
	at, runs := rolloutDeadline(e, d, w.pods, w.now)
	if !runs {
		return 0
	}
	return max(0, at.Sub(w.now.Time))
}
