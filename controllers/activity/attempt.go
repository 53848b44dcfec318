package activity

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once"
)

// An attempt runs its command at most once: its pod starts at most once (see package once), and
//
//   - the next attempt starts only after a live read showed the end of the last;
//   - the container refuses to be started twice (see guardCommand).
//
// An attempt ends with the command's container, whatever containers that an admission
// webhook added to it do (see commandEnded); those that continue to run are removed with the
// pod once the end is written down.

// stepJournal writes down the next attempt and the name of its pod.
const stepJournal once.Step = "journaling the attempt"

// nextStep decides what to do next. pod is the one that bears the current attempt's name, or nil.
func nextStep(a *egov1.Activity, pod *corev1.Pod, now time.Time) once.Step {
	attempt := currentAttempt(a)
	switch {
	case prosta(a).Finished():
		return once.Wait
	case attempt == nil || attempt.Prosta.Finished():
		return decideNextAttempt(a, now)
	}
	return once.Next(a, attemptOf(attempt), pod, once.Facts{
		Ended:        pod != nil && commandEnded(pod),
		MayCreate:    !isSuspended(a),
		MayStart:     !isSuspended(a),
		GiveUp:       a.Spec.Cancel || startDeadlinePassed(a, now),
		Stop:         pod != nil && (a.Spec.Cancel || isStartOverdue(a, pod, now)),
		KeepsDeleted: true,
	})
}

// attemptOf returns which pod an attempt has. Before the first attempt there is none.
func attemptOf(attempt *egov1.Attempt) once.Attempt {
	if attempt == nil {
		return once.Attempt{}
	}
	return once.Attempt{PodName: attempt.PodName, PodUID: attempt.PodUID}
}

// decideNextAttempt decides whether the next attempt starts. An attempt that is never to start
// is journaled too, so that its end has a place to be written to.
func decideNextAttempt(a *egov1.Activity, now time.Time) once.Step {
	switch {
	case a.Spec.Cancel || startDeadlinePassed(a, now):
		return stepJournal
	case isSuspended(a) || now.Before(retryTime(a, currentAttempt(a))):
		return once.Wait
	}
	return stepJournal
}

// currentAttempt returns the last attempt, or nil before the first.
func currentAttempt(a *egov1.Activity) *egov1.Attempt {
	if len(a.Status.Attempts) == 0 {
		return nil
	}
	return &a.Status.Attempts[len(a.Status.Attempts)-1]
}

func hasFinalizer(pod *corev1.Pod) bool { return slices.Contains(pod.Finalizers, finalizer) }

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
	case canJournal(a, pod.Name) || !once.IsGated(pod):
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
	case once.PodEnded(pod) || !pod.DeletionTimestamp.IsZero():
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
	return !hasFinalizer(pod) || unfinished && attemptOf(attempt).CanHave(pod)
}
