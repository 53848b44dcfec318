package conditions

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// Workload is what a Deployment or a StatefulSet says of itself.
type Workload struct {
	Generation         int64 // of the child
	ObservedGeneration int64 // generation that the child's controller has seen
	Desired            int32 // pods asked for
	MinReady           int32 // pods that must serve for the whole to be Available
	Updated            int32 // pods of the desired template
	Ready              int32 // pods that are ready now
	Total              int32 // pods that exist, of any template
	// Failure says in the kubelet's or the server's words what keeps a pod from
	// starting; empty when nothing does.
	Failure string
	// StartupWait says what a pod lacks to be ready, where none fails; else it is empty.
	StartupWait string
	// DeadlineExceeded is true when the rollout exceeded its progress deadline.
	DeadlineExceeded bool
	// Frontend is the workload that clients reach the pods through; nil when they reach them directly.
	Frontend *Workload
}

// isRolledOut reports whether the child's controller has seen the child's last generation and every pod, no more and
// no fewer, is of it and ready.
func (w Workload) isRolledOut() (ok bool, reason, message string) {
	switch {
	case w.Generation == 0 || w.ObservedGeneration < w.Generation:
		return false, commonv1.ReasonRollingOut, "waiting for the workload controller"
	case w.Updated < w.Desired:
		return false, commonv1.ReasonRollingOut, fmt.Sprintf("%d of %d replicas updated", w.Updated, w.Desired)
	case w.Total > w.Desired:
		return false, commonv1.ReasonRollingOut, fmt.Sprintf("%d replicas still to go", w.Total-w.Desired)
	case w.Ready < w.Desired:
		return false, commonv1.ReasonReplicas, fmt.Sprintf("%d of %d replicas ready", w.Ready, w.Desired)
	}
	if w.Frontend != nil {
		if done, reason, message := w.Frontend.isRolledOut(); !done {
			return false, reason, "the proxy: " + message
		}
	}
	if w.Desired == 0 {
		return true, commonv1.ReasonScaledToZero, "size is 0"
	}
	return true, commonv1.ReasonReplicas, fmt.Sprintf("%d of %d replicas ready", w.Ready, w.Desired)
}

// isAvailable reports whether the minimum of pods is ready and can be reached.
func (w Workload) isAvailable() (bool, string) {
	least := max(w.MinReady, 1)
	message := fmt.Sprintf("%d replicas ready, at least %d needed", w.Ready, least)
	if w.Frontend != nil && w.Ready >= least {
		serves, because := w.Frontend.isAvailable()
		return serves, message + "; the proxy: " + because
	}
	return w.Ready >= least, message
}

// progress is how far the rollout is, and what it waits for.
func (w Workload) progress() (done bool, reason, message string) {
	done, reason, message = w.isRolledOut()
	if w.StartupWait != "" && w.Failure == "" && !done {
		message += ": " + w.StartupWait
	}
	return done, reason, message
}

// PodFailing is the problem that a pod which the rollout needs does not start; nil if there is none. before are the conditions that
// reported it last: a container's other last words alone are no news.
func (w Workload) PodFailing(before []metav1.Condition) *Problem {
	if done, _, _ := w.progress(); done || w.Failure == "" {
		return nil
	}
	return &Problem{Reason: commonv1.ReasonPodFailing, Message: keepLastWords(before, w.Failure)}
}

// Overdue is the problem that the rollout exceeded its progress deadline; nil if it did not.
func (w Workload) Overdue() *Problem {
	done, _, message := w.progress()
	if done || !w.DeadlineExceeded {
		return nil
	}
	return &Problem{Reason: commonv1.ReasonProgressDeadlineExceeded, Message: message}
}

// SetFromWorkload sets Ready, Available and Progressing.
func SetFromWorkload(list *[]metav1.Condition, generation int64, w Workload) {
	done, reason, message := w.progress()
	Set(list, generation, commonv1.ConditionReady, done, reason, message)

	if w.Desired == 0 {
		Set(list, generation, commonv1.ConditionAvailable, false, commonv1.ReasonScaledToZero, "size is 0: nothing serves")
	} else {
		serves, message := w.isAvailable()
		Set(list, generation, commonv1.ConditionAvailable, serves, commonv1.ReasonReplicas, message)
	}

	if done {
		Set(list, generation, commonv1.ConditionProgressing, false, commonv1.ReasonRolledOut, "this generation runs everywhere")
	} else {
		Set(list, generation, commonv1.ConditionProgressing, !w.DeadlineExceeded, reason, message)
	}
}
