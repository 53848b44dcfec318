package activity

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
)

// heldBack is true while nothing that has not started may start.
func heldBack(a *egov1.Activity) bool { return a.Spec.Suspend && !a.Spec.Cancel }

// deadline is when the command must have started; ok is false for whenever.
func deadline(a *egov1.Activity) (at time.Time, ok bool) {
	started := slices.ContainsFunc(a.Status.Attempts, func(t egov1.Attempt) bool { return t.StartTime != nil })
	if a.Spec.StartDeadline == nil || started {
		return time.Time{}, false
	}
	return a.CreationTimestamp.Add(a.Spec.StartDeadline.Duration), true
}

// overdue is true when the command has not started in time, as far as the status knows.
func overdue(a *egov1.Activity, now time.Time) bool {
	at, ok := deadline(a)
	return ok && !now.Before(at)
}

// late is overdue with the pod asked as well: its container may have started since.
func late(a *egov1.Activity, pod *corev1.Pod, now time.Time) bool {
	state := containerStatus(pod).State
	return overdue(a, now) && state.Running == nil && state.Terminated == nil
}

// wake is how long it is until time alone changes what there is to do; 0 for never.
func wake(a *egov1.Activity, now time.Time) time.Duration {
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
	if at, ok := deadline(a); ok {
		consider(at)
	}
	if attempt := current(a); attempt != nil && attempt.Prosta.Finished() && !heldBack(a) {
		consider(due(a, attempt))
	}
	return soonest
}

// expiry is when a finished Activity is to be deleted; ok is false for never. As a Job's
// it counts from when the end was noted: one that nobody was there to note is shown, too.
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
