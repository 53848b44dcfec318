package activity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/activity/internal/guard"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once"
)

// attemptEnd describes how an attempt ended.
type attemptEnd struct {
	prosta  egov1.ProcessState
	reason  string
	message string
}

// setResult writes into the attempt how it ended. pod is its pod as the API server
// has it now, or nil when that is gone or was never made. What the pod really did
// counts: a command that was cancelled but ended well has succeeded.
func setResult(a *egov1.Activity, pod *corev1.Pod, now metav1.Time) {
	attempt := currentAttempt(a)
	if pod != nil && pod.UID != attempt.PodUID {
		pod = nil
	}
	status := commandStatus(pod)
	ran := commandTermination(status)
	e := determineEnd(a, pod, status, now.Time)
	attempt.Prosta, attempt.Reason, attempt.Message = e.prosta, e.reason, e.message
	if pod != nil {
		attempt.NodeName = pod.Spec.NodeName
	}
	if wasObserved(ran) && e.reason != commonv1.ReasonStartedTwice {
		attempt.ExitCode, attempt.Signal = ptr.To(ran.ExitCode), signal(ran)
		if at := startedAt(ran); at != nil {
			attempt.StartTime = at
		}
		if at := finishedAt(ran); !at.IsZero() {
			attempt.FinishTime = &at
		}
		attempt.Message += killedNote(pod, ran)
	}
	// A node's clock may be ahead of ours, and retries and ttl go by this time.
	if attempt.FinishTime == nil || now.Before(attempt.FinishTime) {
		attempt.FinishTime = &now
	}
}

// determineEnd says how the attempt ended, from the most certain fact to the least. The command's
// own container decides: how others in the pod end says nothing of the command.
func determineEnd(a *egov1.Activity, pod *corev1.Pod, status corev1.ContainerStatus, now time.Time) attemptEnd {
	attempt, ran := currentAttempt(a), commandTermination(status)
	switch {
	case pod == nil && attempt.PodUID == "" && !a.Spec.Cancel:
		return startDeadlineEnd(a)
	case pod == nil && attempt.PodUID == "":
		return attemptEnd{egov1.Cancelled, commonv1.ReasonCancelled, "cancelled before it started"}
	case pod == nil:
		return attemptEnd{egov1.Lost, commonv1.ReasonPodGone,
			fmt.Sprintf("pod %s is gone; whether and how the command ended is unknown", attempt.PodName)}
	case restartedUnobserved(pod):
		return startedTwiceEnd
	case timedOut(pod, ran):
		return attemptEnd{egov1.TimedOut, commonv1.ReasonDeadlineExceeded, "the command did not end within timeout " + timeoutText(a)}
	case succeeded(pod, ran):
		return attemptEnd{egov1.Succeeded, commonv1.ReasonExited, "the command ended with exit code 0"}
	case a.Spec.Cancel && !pod.DeletionTimestamp.IsZero():
		return attemptEnd{egov1.Cancelled, commonv1.ReasonCancelled, "stopped by cancel"}
	case deletedAfterStartDeadline(a, pod, status, now):
		return startDeadlineEnd(a)
	case once.NeverBound(pod):
		return attemptEnd{egov1.Failed, commonv1.ReasonPodDeleted, "the pod was deleted before it had a node; the command did not run"}
	case !wasObserved(ran):
		return unobservedEnd(attempt, pod, status)
	}
	return failureEnd(pod, ran)
}

// deletedAfterStartDeadline reports whether the pod was deleted after startDeadline with its command not
// started by then. In a pod that was given up with its node, the command may have started.
func deletedAfterStartDeadline(a *egov1.Activity, pod *corev1.Pod, status corev1.ContainerStatus, now time.Time) bool {
	at, ok := startDeadline(a)
	if ran := commandTermination(status); wasObserved(ran) && startedAt(ran) != nil {
		now = ran.StartedAt.Time
	}
	return ok && !pod.DeletionTimestamp.IsZero() && !isDisrupted(pod) && !now.Before(at)
}

// isDisrupted reports whether the cluster, not the pod's node, brings the pod to its end.
func isDisrupted(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue
	})
}

func startDeadlineEnd(a *egov1.Activity) attemptEnd {
	return attemptEnd{egov1.Failed, commonv1.ReasonStartDeadlineExceeded,
		"the command had not started within startDeadline " + a.Spec.StartDeadline.Duration.String()}
}

// unobservedEnd returns the end of an attempt whose container was not seen to end. The command did not
// run when the kubelet refused the pod at once, or says that the container waits, or when an
// init container failed, which all others wait for; otherwise it may have run.
func unobservedEnd(attempt *egov1.Attempt, pod *corev1.Pod, status corev1.ContainerStatus) attemptEnd {
	if name, failed := failedInit(pod); failed != nil && status.State.Terminated == nil {
		return initFailureEnd(attempt, pod, name, failed)
	}
	idle := status.State.Running == nil && status.State.Terminated == nil && attempt.StartTime == nil
	switch refused := pod.Status.Reason != "" && idle; {
	case refused && (status.Name != "" || refusedImmediately(pod)):
		return attemptEnd{egov1.Failed, pod.Status.Reason,
			cmp.Or(pod.Status.Message, "the node did not take the pod on; the command did not run")}
	case refused:
		return attemptEnd{egov1.Lost, commonv1.ReasonNodeLost, fmt.Sprintf(
			"the node refused the pod after a time in which the command may have run (%s: %s)", pod.Status.Reason, pod.Status.Message)}
	}
	return attemptEnd{egov1.Lost, commonv1.ReasonNodeLost,
		"the pod was given up with its node; whether and how the command ended is unknown"}
}

// refusalWindow is how far a pod's startTime and the kubelet's first report may differ; both are in whole seconds.
const refusalWindow = 2 * time.Second

// refusedImmediately reports whether the refusal of a pod was all that the kubelet ever said of it. A
// kubelet that starts over decides again whether to admit the pods it runs, and a refusal then
// wipes what the containers did. startTime is the time of its first report; phase, which no one
// else sets, was last set by the refusal.
func refusedImmediately(pod *corev1.Pod) bool {
	return pod.Status.StartTime != nil && slices.ContainsFunc(pod.ManagedFields, func(f metav1.ManagedFieldsEntry) bool {
		turned := f.Subresource == "status" && f.Time != nil && f.FieldsV1 != nil && strings.Contains(f.FieldsV1.GetRawString(), `"f:phase"`)
		return turned && f.Time.Sub(pod.Status.StartTime.Time).Abs() <= refusalWindow
	})
}

// failureEnd returns the end of an attempt whose container was seen to fail.
func failureEnd(pod *corev1.Pod, ran *corev1.ContainerStateTerminated) attemptEnd {
	switch {
	case guardRefused(ran, guard.StartedBefore):
		return startedTwiceEnd
	case guardRefused(ran, guard.StartFileNotWritten):
		return attemptEnd{egov1.Failed, commonv1.ReasonNotStarted,
			"the command did not run: the guard against a second start could not write its start file"}
	case pod.Status.Reason != "" && pod.Status.Reason != commonv1.ReasonDeadlineExceeded: // the kubelet's: Evicted, Terminated
		return attemptEnd{egov1.Failed, pod.Status.Reason, cmp.Or(pod.Status.Message, fmt.Sprintf("exit code %d", ran.ExitCode))}
	case !pod.DeletionTimestamp.IsZero():
		return attemptEnd{egov1.Failed, commonv1.ReasonPodDeleted,
			fmt.Sprintf("the pod was deleted while the command ran; exit code %d", ran.ExitCode)}
	case ran.Reason == "" || ran.Reason == "Error":
		return attemptEnd{egov1.Failed, commonv1.ReasonExited,
			cmp.Or(messageOf(ran), fmt.Sprintf("the command ended with exit code %d", ran.ExitCode))}
	}
	return attemptEnd{egov1.Failed, ran.Reason, cmp.Or(messageOf(ran), fmt.Sprintf("exit code %d", ran.ExitCode))}
}

// outputLost is what the message of an attempt says where the node's log lacks the end of what the command printed.
const outputLost = "the end of the output is lost: the runtime of the node did not write it to the log; outputTail ends before it"

// reasonOOMKilled is the kubelet's reason for a container in which the kernel killed a process because memory was short.
const reasonOOMKilled = "OOMKilled"

// killedNote says that the kernel killed processes of the command, which may still have succeeded. It is empty where no
// process was killed, and where the attempt's reason says it.
func killedNote(pod *corev1.Pod, ran *corev1.ContainerStateTerminated) string {
	const allWithIt = 137
	kills := reportOf(ran).OOMKills
	if kills <= 0 && (ran.Reason != reasonOOMKilled || ran.ExitCode == allWithIt) {
		return ""
	}
	what := "processes"
	switch {
	case kills == 1:
		what = "1 process"
	case kills > 1:
		what = fmt.Sprintf("%d processes", kills)
	}
	for _, c := range pod.Spec.Containers {
		if limit, ok := c.Resources.Limits[corev1.ResourceMemory]; ok && c.Name == appName {
			return fmt.Sprintf("; the kernel killed %s of the command because the container needed more than its memory limit of %s: raise "+
				"resources.limits.memory, or let the command use less", what, limit.String())
		}
	}
	return fmt.Sprintf("; the kernel killed %s of the command because the node was short of memory: set resources.requests.memory to what "+
		"the command needs", what)
}

// startedTwiceEnd is the end of an attempt whose container was started again, though its first start was not seen to end.
var startedTwiceEnd = attemptEnd{egov1.Lost, commonv1.ReasonStartedTwice,
	"the container was started a second time, which the guard refused where it could know; how the first start ended is unknown"}

// initFailureEnd returns the end of an attempt in whose pod an init container failed. The command
// did not run, unless it had run before the node restarted the pod.
func initFailureEnd(attempt *egov1.Attempt, pod *corev1.Pod, name string, failed *corev1.ContainerStateTerminated) attemptEnd {
	what := "init container " + name + ", which somebody added to the pod,"
	if name == guardContainer {
		what = fmt.Sprintf("container %s, which brings the guard that starts the command from the operator's image %s,", name, attempt.GuardImage)
	}
	switch {
	case name == guardContainer && guardRefused(failed, guard.StartedBefore) || attempt.StartTime != nil:
		return startedTwiceEnd
	case pod.Status.Reason != "":
		return attemptEnd{egov1.Failed, pod.Status.Reason, cmp.Or(pod.Status.Message, "the pod was stopped") + "; the command did not run"}
	case !pod.DeletionTimestamp.IsZero():
		return attemptEnd{egov1.Failed, commonv1.ReasonPodDeleted, "the pod was deleted before the command started; it did not run"}
	}
	return attemptEnd{egov1.Failed, commonv1.ReasonNotStarted, fmt.Sprintf(
		"the command did not run: %s failed with exit code %d: %s", what, failed.ExitCode, cmp.Or(failed.Message, failed.Reason))}
}
