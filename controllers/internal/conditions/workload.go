package conditions

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// Workload is what a Deployment or a StatefulSet says of itself.
type Workload struct {
	Generation int64 // of the child
	Observed   int64 // generation that the child's controller has seen
	Want       int32 // pods asked for
	Minimum    int32 // pods that must serve for the whole to be Available
	Updated    int32 // pods of the desired template
	Ready      int32 // pods that are ready now
	Total      int32 // pods that exist, of any template
	// Failing says in the kubelet's or the server's words what keeps a pod from
	// starting; empty when nothing does.
	Failing string
	// Starting says what a pod is not ready for lack of, where none fails, or is empty.
	Starting string
	// Stuck is true when the rollout went beyond its progress deadline.
	Stuck bool
	// Front is what clients reach the pods through; nil when they do so themselves.
	Front *Workload
}

// rolledOut is true when the child's controller has seen the child's last
// generation and every pod, no more and no fewer, is of it and ready.
func (w Workload) rolledOut() (ok bool, reason, message string) {
	switch {
	case w.Generation == 0 || w.Observed < w.Generation:
		return false, commonv1.ReasonRolling, "waiting for the workload controller"
	case w.Updated < w.Want:
		return false, commonv1.ReasonRolling, fmt.Sprintf("%d of %d replicas updated", w.Updated, w.Want)
	case w.Total > w.Want:
		return false, commonv1.ReasonRolling, fmt.Sprintf("%d replicas still to go", w.Total-w.Want)
	case w.Ready < w.Want:
		return false, commonv1.ReasonReplicas, fmt.Sprintf("%d of %d replicas ready", w.Ready, w.Want)
	}
	if w.Front != nil {
		if done, reason, message := w.Front.rolledOut(); !done {
			return false, reason, "in front of them: " + message
		}
	}
	if w.Want == 0 {
		return true, commonv1.ReasonScaledToZero, "size is 0"
	}
	return true, commonv1.ReasonReplicas, fmt.Sprintf("%d of %d replicas ready", w.Ready, w.Want)
}

// serves is true when the minimum is ready, and can be reached.
func (w Workload) serves() (bool, string) {
	least := max(w.Minimum, 1)
	message := fmt.Sprintf("%d replicas ready, at least %d needed", w.Ready, least)
	if w.Front != nil && w.Ready >= least {
		serves, because := w.Front.serves()
		return serves, message + "; in front of them: " + because
	}
	return w.Ready >= least, message
}

// FromWorkload sets Ready, Available, Progressing and Degraded.
func FromWorkload(list *[]metav1.Condition, generation int64, w Workload) {
	done, reason, message := w.rolledOut()
	if w.Starting != "" && w.Failing == "" && !done {
		message += ": " + w.Starting
	}
	Set(list, generation, commonv1.ConditionReady, done, reason, message)

	if w.Want == 0 {
		Set(list, generation, commonv1.ConditionAvailable, false, commonv1.ReasonScaledToZero, "size is 0: nothing serves")
	} else {
		serves, message := w.serves()
		Set(list, generation, commonv1.ConditionAvailable, serves, commonv1.ReasonReplicas, message)
	}

	if done {
		Set(list, generation, commonv1.ConditionProgressing, false, commonv1.ReasonRolledOut, "this generation runs everywhere")
	} else {
		Set(list, generation, commonv1.ConditionProgressing, !w.Stuck, reason, message)
	}

	switch {
	case w.Failing != "" && !done:
		Set(list, generation, commonv1.ConditionDegraded, true, commonv1.ReasonPodFailing, w.Failing)
	case w.Stuck && !done:
		Set(list, generation, commonv1.ConditionDegraded, true, commonv1.ReasonDeadlineExceeded, message)
	default:
		Set(list, generation, commonv1.ConditionDegraded, false, commonv1.ReasonAsExpected, "nothing needs a human")
	}
}
