package activity

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
)

// isSuspended reports whether nothing that has not started may start now.
func isSuspended(a *egov1.Activity) bool { return a.Spec.Suspend && !a.Spec.Cancel }

// startDeadline returns when the command must have started; ok is false when there is no such time.
func startDeadline(a *egov1.Activity) (at time.Time, ok bool) {
	started := slices.ContainsFunc(a.Status.Attempts, func(t egov1.Attempt) bool { return t.StartTime != nil })
	if a.Spec.StartDeadline == nil || started {
		return time.Time{}, false
	}
	return a.CreationTimestamp.Add(a.Spec.StartDeadline.Duration), true
}

// startDeadlinePassed reports whether the command has not started in time according to the status.
func startDeadlinePassed(a *egov1.Activity, now time.Time) bool {
	at, ok := startDeadline(a)
	return ok && !now.Before(at)
}

// isStartOverdue reports whether, according to the pod as well, the command has not started in time: its container
// may have started since the status was written.
func isStartOverdue(a *egov1.Activity, pod *corev1.Pod, now time.Time) bool {
	state := commandStatus(pod).State
	return startDeadlinePassed(a, now) && state.Running == nil && state.Terminated == nil
}

// requeueAfter returns how long it takes until time alone changes what there is to do; 0 for never.
func requeueAfter(a *egov1.Activity, now time.Time) time.Duration {
	var soonest time.Duration
	consider := func(at time.Time) {
		if left := at.Sub(now); left > 0 && (soonest == 0 || left < soonest) {
			soonest = left
		}
	}
	if at, ok := expiry(a); ok {
		consider(at)
	}
	if prosta(a).Finished() {
		return soonest
	}
	if at, ok := startDeadline(a); ok {
		consider(at)
	}
	if attempt := currentAttempt(a); attempt != nil && attempt.Prosta.Finished() && !isSuspended(a) {
		consider(retryTime(a, attempt))
	}
	return soonest
}

// expiry returns when a finished Activity is to be deleted; ok is false for never. Like a Job's ttl
// it counts from when the end was noted, so that an end that was noted late is shown, too.
func expiry(a *egov1.Activity) (at time.Time, ok bool) {
	ttl := a.Spec.TTLSecondsAfterFinished
	if ttl == nil || !a.Status.Prosta.Finished() || a.Status.FinishTime == nil {
		return time.Time{}, false
	}
	at = a.Status.FinishTime.Time
	for _, c := range a.Status.Conditions {
		ends := c.Type == commonv1.ConditionComplete || c.Type == commonv1.ConditionFailed
		if noted := c.LastTransitionTime.Time; ends && noted.After(at) {
			at = noted
		}
	}
	return at.Add(time.Duration(*ttl) * time.Second), true
}
