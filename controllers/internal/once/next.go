package once

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Gate keeps a pod from being scheduled until its UID is in the status.
const Gate = "mainstay-operator.io/journaled"

// Attempt is what the status says of the attempt under way; without a name there is none.
type Attempt struct {
	PodName string
	PodUID  types.UID
}

// Facts are what a kind knows of its attempt.
type Facts struct {
	Ended     bool // what the pod is for has ended, or will never start; or the node is lost, where the kind may start another pod then
	MayCreate bool // the pod may be created now
	MayStart  bool // the pod may be started now
	GiveUp    bool // the attempt ends without a pod
	Stop      bool // the pod is to be deleted before it has ended
	// KeepsDeleted says that a finalizer of the kind keeps a pod that is being deleted, so that its UID can still be journaled. Otherwise
	// such a pod goes away by itself, and another is created.
	KeepsDeleted bool
}

// Step is the one thing to do next. A kind adds those between its attempts.
type Step string

const (
	// Wait does nothing until an event says that something has changed.
	Wait Step = "waiting for an event"
	// Create makes the pod, gated.
	Create Step = "creating the pod"
	// JournalUID writes the UID of the gated pod into the status.
	JournalUID Step = "journaling the pod's UID"
	// Start removes the gate of the journaled pod.
	Start Step = "removing the pod's gate"
	// Stop deletes the journaled pod.
	Stop Step = "stopping the pod"
	// Save writes down how the attempt ended.
	Save Step = "recording the result"
	// Refuse leaves alone, and reports, a pod of the attempt's name that is not ours or has no gate.
	Refuse Step = "refusing a pod that is not ours or has no gate"
)

// Next decides what to do next for an attempt that is in the status and has not ended. pod is the one with the attempt's name, or nil.
func Next(owner metav1.Object, attempt Attempt, pod *corev1.Pod, facts Facts) Step {
	switch {
	case attempt.PodUID == "":
		return nextWithoutUID(owner, pod, facts)
	case pod == nil || pod.UID != attempt.PodUID || facts.Ended:
		return Save
	case !pod.DeletionTimestamp.IsZero():
		return Wait
	case facts.Stop:
		return Stop
	case IsGated(pod) && facts.MayStart:
		return Start
	}
	return Wait
}

// nextWithoutUID decides while no UID is in the status: the pod may exist or not, but it has not started.
func nextWithoutUID(owner metav1.Object, pod *corev1.Pod, facts Facts) Step {
	switch {
	case facts.GiveUp:
		return Save
	case pod == nil && !facts.MayCreate:
		return Wait
	case pod == nil:
		return Create
	case !metav1.IsControlledBy(pod, owner) || !IsGated(pod):
		return Refuse
	case !pod.DeletionTimestamp.IsZero() && !facts.KeepsDeleted:
		return Wait
	}
	return JournalUID
}

// CanHave reports whether the pod is the attempt's, or can still become it.
func (a Attempt) CanHave(pod *corev1.Pod) bool {
	return a.PodName == pod.Name && (a.PodUID == "" || a.PodUID == pod.UID)
}

// Cached returns the attempt's pod among those that the cache has, or nil.
func (a Attempt) Cached(pods []corev1.Pod) *corev1.Pod {
	if i := slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.Name == a.PodName }); i >= 0 {
		return &pods[i]
	}
	return nil
}

// IsGated reports whether the pod waits for its UID to be journaled, or to be permitted to start.
func IsGated(pod *corev1.Pod) bool { return slices.ContainsFunc(pod.Spec.SchedulingGates, isOurs) }

func isOurs(g corev1.PodSchedulingGate) bool { return g.Name == Gate }

// PodEnded reports whether no container of the pod runs or ever will.
func PodEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || NeverBound(pod)
}

// NeverBound reports whether the pod was deleted before it had a node: no pod is bound once it is deleted.
func NeverBound(pod *corev1.Pod) bool {
	return !pod.DeletionTimestamp.IsZero() && pod.Spec.NodeName == ""
}
