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
//   - a pod is born with a scheduling gate, and the gate is removed only from the
//     pod whose UID the status already holds;
//   - a UID, once in the status, is never replaced: every write of the status is
//     refused when it was made from an older one;
//   - the next attempt begins only after a live read showed the end of the last;
//   - the container refuses to be started twice (see guarded).
//
// It ends with the command's container, whatever others an admission webhook has put
// beside it do (see over); those that go on are removed with the pod once the end is
// written down.
//
// So a pod that a lost response, a stale cache or a stopped leader made once too
// often stays behind its gate until it is discarded.

// step is the one thing to do next for an Activity.
type step string

const (
	// wait : nothing to do until an event says that something has changed.
	wait step = "waiting for an event"
	// journal : write down the next attempt and the name of its pod.
	journal step = "journaling the attempt"
	// create : make the pod, gated.
	create step = "creating the pod"
	// adopt : write down the UID of the gated pod.
	adopt step = "journaling the pod's UID"
	// start : remove the gate of the journaled pod.
	start step = "removing the pod's gate"
	// stop : delete the journaled pod of a run that is cancelled, or too late to start.
	stop step = "stopping the pod"
	// record : write down how the attempt ended.
	record step = "recording the result"
	// refuse : a pod of this name was not made by us and is not touched.
	refuse step = "refusing a pod of somebody else"
)

// next decides. pod is the one that bears the current attempt's name, or nil.
func next(a *egov1.Activity, pod *corev1.Pod, now time.Time) step {
	attempt := current(a)
	switch {
	case prosta(a).Finished():
		return wait
	case attempt == nil || attempt.Prosta.Finished():
		return begin(a, now)
	case attempt.PodUID == "":
		return unjournaled(a, pod, now)
	case pod == nil || pod.UID != attempt.PodUID || over(pod):
		return record
	case !pod.DeletionTimestamp.IsZero():
		return wait
	case a.Spec.Cancel || late(a, pod, now):
		return stop
	case gated(pod) && !heldBack(a):
		return start
	}
	return wait
}

// begin decides whether the next attempt begins. One that is never to start is
// journaled too: its end is written there.
func begin(a *egov1.Activity, now time.Time) step {
	switch {
	case a.Spec.Cancel || overdue(a, now):
		return journal
	case heldBack(a) || now.Before(due(a, current(a))):
		return wait
	}
	return journal
}

// unjournaled decides for an attempt whose pod may or may not have been made.
func unjournaled(a *egov1.Activity, pod *corev1.Pod, now time.Time) step {
	switch {
	case a.Spec.Cancel || overdue(a, now):
		return record
	case pod == nil && heldBack(a):
		return wait
	case pod == nil:
		return create
	case !metav1.IsControlledBy(pod, a) || !gated(pod):
		return refuse
	}
	return adopt
}

// current is the last attempt, or nil before the first.
func current(a *egov1.Activity) *egov1.Attempt {
	if len(a.Status.Attempts) == 0 {
		return nil
	}
	return &a.Status.Attempts[len(a.Status.Attempts)-1]
}

func gated(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name == gate })
}

func held(pod *corev1.Pod) bool { return slices.Contains(pod.Finalizers, finalizer) }

// ended is true when nothing of the pod runs or ever will: it has reached its
// end, or was deleted before it had a node (no pod is bound once it is deleted). The
// command may have ended before: see over.
func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || neverBound(pod)
}

func neverBound(pod *corev1.Pod) bool {
	return !pod.DeletionTimestamp.IsZero() && pod.Spec.NodeName == ""
}

// verdict is what becomes of a pod that bears our finalizer.
type verdict int

const (
	// keep : the current attempt's, or one that is not settled yet, or one that ends by itself.
	keep verdict = iota
	// release : its result is written down, or nobody is left to write it down for.
	release
	// discard : made once too often, so that it can never be journaled, and so never
	// start; or kept by a container of others, though the command's end is written down.
	discard
)

// judge decides. a is the Activity as it stands at the API server, or nil when
// it is gone: a stale one would condemn the pod of an attempt it has not seen.
func judge(a *egov1.Activity, pod *corev1.Pod) verdict {
	if a == nil || !a.DeletionTimestamp.IsZero() {
		return release
	}
	for _, attempt := range a.Status.Attempts {
		switch {
		case attempt.PodUID == pod.UID && attempt.Prosta.Finished():
			return afterwards(pod)
		case attempt.PodUID == pod.UID:
			return keep
		}
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	switch {
	case owner == nil || owner.UID != a.UID:
		return release // of a namesake that was deleted
	case !spent(a, pod.Name) || !gated(pod):
		return keep
	case !pod.DeletionTimestamp.IsZero():
		return release
	}
	return discard
}

// afterwards decides for a pod whose end is written down. It is let go last: nobody looks
// after a pod that is not held.
func afterwards(pod *corev1.Pod) verdict {
	switch {
	case ended(pod) || !pod.DeletionTimestamp.IsZero():
		return release
	case lingers(pod):
		return discard
	}
	return keep
}

// spent is true when no pod of that name can be journaled any more.
func spent(a *egov1.Activity, name string) bool {
	for _, attempt := range a.Status.Attempts {
		if attempt.PodName == name {
			return attempt.PodUID != "" || attempt.Prosta.Finished()
		}
	}
	return prosta(a).Finished()
}

// tidy is true when the Activity's own view of the pod already says that it is
// kept, so that no live read is needed to know.
func tidy(a *egov1.Activity, pod *corev1.Pod) bool {
	attempt := current(a)
	unfinished := attempt != nil && !attempt.Prosta.Finished()
	return !held(pod) || unfinished && attempt.PodName == pod.Name &&
		(attempt.PodUID == "" || attempt.PodUID == pod.UID)
}
