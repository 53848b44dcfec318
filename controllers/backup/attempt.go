package backup

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once"
)

// An attempt writes under a name that no other attempt has, and its pod starts at most once (see package once). The next attempt
// starts only after a live read showed the end of the last, or that its node is lost. A pod on a lost node may continue for a while: it
// can neither overwrite nor delete what others write.
//
// A run is one backup that is due, with all attempts at it.

const (
	// stepNewRun writes down the run that is due, and its first attempt.
	stepNewRun once.Step = "journaling the run"
	// stepRetry writes down the next attempt at the run.
	stepRetry once.Step = "journaling the next attempt"
	// stepGiveUp writes down that no further attempt follows.
	stepGiveUp once.Step = "giving the run up"
)

// nextStep decides what to do next. pod is the one with the current attempt's name, or nil; ready says that the source can be
// read now.
func nextStep(b Object, pod *corev1.Pod, ready bool, now time.Time) once.Step {
	run, suspended := b.GetBackupStatus().Run, b.GetBackupOptions().Suspend
	switch {
	case !isUnderWay(run):
		if isDue(b, now) && ready && !suspended {
			return stepNewRun
		}
	case run.Phase == commonv1.BackupRetrying:
		return decideRetry(b, ready, now)
	default:
		return once.Next(b, attemptOf(run), pod, once.Facts{
			Ended:     pod != nil && (hasEnded(pod) || isLost(pod, now)),
			MayCreate: ready && !suspended,
			MayStart:  !suspended,
			GiveUp:    !now.Before(giveUpTime(b)),
			Stop:      pod != nil && isOverdue(b, pod, now),
		})
	}
	return once.Wait
}

// attemptOf returns which pod the latest attempt at a run has. Without a run there is none.
func attemptOf(run *commonv1.BackupRun) once.Attempt {
	if run == nil {
		return once.Attempt{}
	}
	return once.Attempt{PodName: run.PodName, PodUID: run.PodUID}
}

func decideRetry(b Object, ready bool, now time.Time) once.Step {
	switch run := b.GetBackupStatus().Run; {
	case !now.Before(giveUpTime(b)):
		return stepGiveUp
	case ready && !b.GetBackupOptions().Suspend && !now.Before(retryTime(run, now)):
		return stepRetry
	}
	return once.Wait
}

// isUnderWay reports whether an attempt at the run runs, or one may follow.
func isUnderWay(run *commonv1.BackupRun) bool {
	return run != nil && (run.Phase == commonv1.BackupRunning || run.Phase == commonv1.BackupRetrying)
}

// hasEnded reports whether the runner's containers have ended. A container that an admission webhook has added may still run.
func hasEnded(pod *corev1.Pod) bool {
	last, found := findStatus(pod.Status.ContainerStatuses, mainContainer)
	return once.PodEnded(pod) || found && last.State.Terminated != nil
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
	current := run != nil && run.Phase == commonv1.BackupRunning && attemptOf(run).CanHave(pod)
	return !current
}
