package backup

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// An attempt writes under a name that no other attempt has, and its pod runs at most once, whatever happens to the operator between
// any two calls, because
//
//   - the attempt is in the status, with the names of pod and backup, before the pod is made;
//   - the pod is made with a scheduling gate, and the gate is removed only from the pod whose UID the status already holds;
//   - a UID, once in the status, is never replaced: every write of the status is refused when it was made from an older one;
//   - the next attempt starts only after a live read showed the end of the last, or that its node is lost. A pod on a lost node
//     may continue for a while: it can neither overwrite nor delete what others write.
//
// A run is one backup that is due, with all attempts at it.

// step is the one thing to do next for a backup.
type step string

const (
	// stepWait does nothing until an event says that something has changed.
	stepWait step = "waiting for an event"
	// stepNewRun writes down the run that is due, and its first attempt.
	stepNewRun step = "journaling the run"
	// stepRetry writes down the next attempt at the run.
	stepRetry step = "journaling the next attempt"
	// stepGiveUp writes down that no further attempt follows.
	stepGiveUp step = "giving the run up"
	// stepCreate makes the pod, gated.
	stepCreate step = "creating the pod"
	// stepJournalUID writes down the UID of the gated pod.
	stepJournalUID step = "journaling the pod's UID"
	// stepStart removes the gate of the journaled pod.
	stepStart step = "removing the pod's gate"
	// stepStop deletes the pod of an attempt that has not started in time.
	stepStop step = "stopping the pod"
	// stepRecord writes down how the attempt ended.
	stepRecord step = "recording the outcome"
	// stepRefuse leaves alone, and reports, a pod of the attempt's name that is not ours or has no gate.
	stepRefuse step = "refusing a pod that is not ours or has no gate"
)

// nextStep decides what to do next. pod is the one with the current attempt's name, or nil; ready says that the source can be
// read now.
func nextStep(b Object, pod *corev1.Pod, ready bool, now time.Time) step {
	run, suspended := b.GetBackupStatus().Run, b.GetBackupOptions().Suspend
	switch {
	case !isUnderWay(run):
		if isDue(b, now) && ready && !suspended {
			return stepNewRun
		}
	case run.Phase == commonv1.BackupRetrying:
		return decideRetry(b, ready, now)
	case run.PodUID == "":
		return decideWithoutUID(b, pod, ready, now)
	case pod == nil || pod.UID != run.PodUID || hasEnded(pod) || isLost(pod, now):
		return stepRecord
	case !pod.DeletionTimestamp.IsZero():
	case isOverdue(b, pod, now):
		return stepStop
	case isGated(pod) && !suspended:
		return stepStart
	}
	return stepWait
}

func decideRetry(b Object, ready bool, now time.Time) step {
	switch run := b.GetBackupStatus().Run; {
	case !now.Before(giveUpTime(b)):
		return stepGiveUp
	case ready && !b.GetBackupOptions().Suspend && !now.Before(retryTime(run, now)):
		return stepRetry
	}
	return stepWait
}

// decideWithoutUID decides for a journaled attempt whose pod's UID is not in the status: the pod may exist or not.
func decideWithoutUID(b Object, pod *corev1.Pod, ready bool, now time.Time) step {
	switch {
	case !now.Before(giveUpTime(b)):
		return stepRecord
	case pod == nil && (!ready || b.GetBackupOptions().Suspend):
		return stepWait
	case pod == nil:
		return stepCreate
	case !metav1.IsControlledBy(pod, b) || !isGated(pod):
		return stepRefuse
	case !pod.DeletionTimestamp.IsZero():
		return stepWait // and it is recreated: it can never start
	}
	return stepJournalUID
}

// isUnderWay reports whether an attempt at the run runs, or one may follow.
func isUnderWay(run *commonv1.BackupRun) bool {
	return run != nil && (run.Phase == commonv1.BackupRunning || run.Phase == commonv1.BackupRetrying)
}

func isGated(pod *corev1.Pod) bool { return slices.ContainsFunc(pod.Spec.SchedulingGates, isOurGate) }

func isOurGate(g corev1.PodSchedulingGate) bool { return g.Name == schedulingGate }

// hasEnded reports whether the runner's containers have ended. A container that an admission webhook has added may still run.
func hasEnded(pod *corev1.Pod) bool {
	switch {
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		return true
	case !pod.DeletionTimestamp.IsZero() && pod.Spec.NodeName == "": // no pod is bound once it is deleted
		return true
	}
	last, found := findStatus(pod.Status.ContainerStatuses, mainContainer)
	return found && last.State.Terminated != nil
}

// lostAfter is how long a pod may run after its grace period before its node counts as lost.
const lostAfter = time.Minute

// isLost reports whether the pod should have ended long ago. Its node does not say that it has.
func isLost(pod *corev1.Pod, now time.Time) bool {
	return !pod.DeletionTimestamp.IsZero() && now.After(pod.DeletionTimestamp.Add(lostAfter))
}

// hasStarted reports whether any container of the pod has run.
func hasStarted(pod *corev1.Pod) bool {
	return slices.ContainsFunc(containerStatuses(pod), func(s corev1.ContainerStatus) bool {
		return s.State.Running != nil || s.State.Terminated != nil
	})
}

// isOverdue reports whether the attempt should have started by now and has not.
func isOverdue(b Object, pod *corev1.Pod, now time.Time) bool {
	return !now.Before(giveUpTime(b)) && !hasStarted(pod)
}

// isObsolete reports whether the pod can be deleted: its attempt has ended, or it belongs to none. Pass the live object: a stale one does
// not know the latest attempt.
func isObsolete(b Object, pod *corev1.Pod) bool {
	run := b.GetBackupStatus().Run
	if !metav1.IsControlledBy(pod, b) || !pod.DeletionTimestamp.IsZero() {
		return false
	}
	current := run != nil && run.Phase == commonv1.BackupRunning && run.PodName == pod.Name && (run.PodUID == "" || run.PodUID == pod.UID)
	return !current
}
