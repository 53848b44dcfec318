package activity

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
)

// An attempt runs its command at most once, whatever happens to the operator
// between any two calls, because
//
//   - a pod is created with a scheduling gate, and the gate is removed only from the
//     pod whose UID the status already holds;
//   - a UID, once in the status, is never replaced: every write of the status is
//     refused when it was made from an older one;
//   - the next attempt starts only after a live read showed the end of the last;
//   - the container refuses to be started twice (see guardCommand).
//
// An attempt ends with the command's container, whatever containers that an admission
// webhook added to it do (see commandEnded); those that continue to run are removed with the
// pod once the end is written down.
//
// So a pod that a lost response, a stale cache or a stopped leader made once too
// often stays behind its gate until it is discarded.

// step is the one thing to do next for an Activity.
type step string

const (
	// stepWait does nothing until an event says that something has changed.
	stepWait step = "waiting for an event"
	// stepJournal writes down the next attempt and the name of its pod.
	stepJournal step = "journaling the attempt"
	// stepCreate makes the pod, gated.
	stepCreate step = "creating the pod"
	// stepJournalUID writes down the UID of the gated pod.
	stepJournalUID step = "journaling the pod's UID"
	// stepStart removes the gate of the journaled pod.
	stepStart step = "removing the pod's gate"
	// stepStop deletes the journaled pod of a run that is cancelled, or too late to start.
	stepStop step = "stopping the pod"
	// stepRecord writes down how the attempt ended.
	stepRecord step = "recording the result"
	// stepRefuse leaves alone, and reports, a pod of the attempt's name that is not ours or has no gate.
	stepRefuse step = "refusing a pod that is not ours or has no gate"
)

// nextStep decides what to do next. pod is the one that bears the current attempt's name, or nil.
func nextStep(a *egov1.Activity, pod *corev1.Pod, now time.Time) step {
	attempt := currentAttempt(a)
	switch {
	case prosta(a).Finished():
		return stepWait
	case attempt == nil || attempt.Prosta.Finished():
		return decideNextAttempt(a, now)
	case attempt.PodUID == "":
		return decideWithoutUID(a, pod, now)
	case pod == nil || pod.UID != attempt.PodUID || commandEnded(pod):
		return stepRecord
	case !pod.DeletionTimestamp.IsZero():
		return stepWait
	case a.Spec.Cancel || isStartOverdue(a, pod, now):
		return stepStop
	case isGated(pod) && !isSuspended(a):
		return stepStart
	}
	return stepWait
}

// decideNextAttempt decides whether the next attempt starts. An attempt that is never to start
// is journaled too, so that its end has a place to be written to.
func decideNextAttempt(a *egov1.Activity, now time.Time) step {
	switch {
	case a.Spec.Cancel || startDeadlinePassed(a, now):
		return stepJournal
	case isSuspended(a) || now.Before(retryTime(a, currentAttempt(a))):
		return stepWait
	}
	return stepJournal
}

// decideWithoutUID decides for a journaled attempt whose pod's UID is not in the status: the pod may exist or not.
func decideWithoutUID(a *egov1.Activity, pod *corev1.Pod, now time.Time) step {
	switch {
	case a.Spec.Cancel || startDeadlinePassed(a, now):
		return stepRecord
	case pod == nil && isSuspended(a):
		return stepWait
	case pod == nil:
		return stepCreate
	case !metav1.IsControlledBy(pod, a) || !isGated(pod):
		return stepRefuse
	}
	return stepJournalUID
}

// currentAttempt returns the last attempt, or nil before the first.
func currentAttempt(a *egov1.Activity) *egov1.Attempt {
	if len(a.Status.Attempts) == 0 {
		return nil
	}
	return &a.Status.Attempts[len(a.Status.Attempts)-1]
}

func isGated(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name == schedulingGate })
}

func hasFinalizer(pod *corev1.Pod) bool { return slices.Contains(pod.Finalizers, finalizer) }

// podEnded reports whether nothing of the pod runs or ever will: it has reached its
// end, or was deleted before it had a node (no pod is bound once it is deleted). The
// command may have ended before: see commandEnded.
func podEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || neverBound(pod)
}

func neverBound(pod *corev1.Pod) bool {
	return !pod.DeletionTimestamp.IsZero() && pod.Spec.NodeName == ""
}

// verdict says what becomes of a pod that bears our finalizer.
type verdict int

const (
	// verdictKeep does nothing: the pod is the current attempt's, is not settled yet, or ends by itself.
	verdictKeep verdict = iota
	// verdictRelease removes our finalizer: the result is recorded, or no object is left to record it in.
	verdictRelease
	// verdictDiscard deletes the pod: it was made once too often and can never start, or somebody else's container keeps
	// it alive though the command's end is written down.
	verdictDiscard
)

// verdictFor decides what becomes of a pod. a is the Activity as it stands at the API server, or
// nil when it is gone: a stale one would condemn the pod of an attempt it has not seen.
func verdictFor(a *egov1.Activity, pod *corev1.Pod) verdict {
	if a == nil || !a.DeletionTimestamp.IsZero() {
		return verdictRelease
	}
	for _, attempt := range a.Status.Attempts {
		switch {
		case attempt.PodUID == pod.UID && attempt.Prosta.Finished():
			return verdictAfterEnd(pod)
		case attempt.PodUID == pod.UID:
			return verdictKeep
		}
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	switch {
	case owner == nil || owner.UID != a.UID:
		return verdictRelease // of a namesake that was deleted
	case canJournal(a, pod.Name) || !isGated(pod):
		return verdictKeep
	case !pod.DeletionTimestamp.IsZero():
		return verdictRelease
	}
	return verdictDiscard
}

// verdictAfterEnd decides for a pod whose end is recorded. Its finalizer goes last: no one
// looks after a pod without it.
func verdictAfterEnd(pod *corev1.Pod) verdict {
	switch {
	case podEnded(pod) || !pod.DeletionTimestamp.IsZero():
		return verdictRelease
	case hasLiveContainer(pod):
		return verdictDiscard
	}
	return verdictKeep
}

// canJournal reports whether a pod of that name can still become the pod of an attempt.
func canJournal(a *egov1.Activity, name string) bool {
	for _, attempt := range a.Status.Attempts {
		if attempt.PodName == name {
			return attempt.PodUID == "" && !attempt.Prosta.Finished()
		}
	}
	return !prosta(a).Finished()
}

// needsNoCleanup reports whether the Activity as it was read already says that the pod is
// kept or not held at all, so that no live read is needed to know.
func needsNoCleanup(a *egov1.Activity, pod *corev1.Pod) bool {
	attempt := currentAttempt(a)
	unfinished := attempt != nil && !attempt.Prosta.Finished()
	return !hasFinalizer(pod) || unfinished && attempt.PodName == pod.Name &&
		(attempt.PodUID == "" || attempt.PodUID == pod.UID)
}
