package conditions

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/untrusted"
)

// IsPodReady reports whether a pod is ready and not being deleted.
func IsPodReady(pod *corev1.Pod) bool {
	_, ready := ReadySince(pod)
	return ready
}

// ReadySince returns when a pod became ready, if it is ready and not being deleted.
func ReadySince(pod *corev1.Pod) (time.Time, bool) {
	at := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	if at < 0 || !pod.DeletionTimestamp.IsZero() {
		return time.Time{}, false
	}
	return pod.Status.Conditions[at].LastTransitionTime.Time, true
}

// IsActive reports whether a pod has not ended and is not being deleted.
func IsActive(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp.IsZero() && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded
}

// HasCrashLooped reports whether a container of the pod keeps stopping, or did.
func HasCrashLooped(pod *corev1.Pod) bool { return crashLoopMessage(pod) != "" }

// FirstFailure says what keeps the first failing pod, in the given order, from starting. The words do not change while
// the cause stays, so that a kubelet that backs off and tries again causes no status write: a container that keeps stopping fails
// until its pod is ready, also while it runs once more.
func FirstFailure(pods []corev1.Pod) string { return FirstFailureUntil(IsPodReady, pods) }

// FirstFailureUntil is like FirstFailure, but a pod that keeps stopping fails until it is proven, even while it runs
// once more.
func FirstFailureUntil(proven func(*corev1.Pod) bool, pods []corev1.Pod) string {
	return firstMessage(pods, func(pod *corev1.Pod) string {
		why := failureOf(pod)
		if why == "" && !proven(pod) {
			why = crashLoopMessage(pod)
		}
		return why
	})
}

// firstMessage returns the first message about an active pod.
func firstMessage(pods []corev1.Pod, message func(*corev1.Pod) string) string {
	for i := range pods {
		if !IsActive(&pods[i]) {
			continue
		}
		if why := message(&pods[i]); why != "" {
			return fmt.Sprintf("pod %s: %s", pods[i].Name, why)
		}
	}
	return ""
}

func failureOf(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return "cannot be scheduled: " + c.Message
		}
	}
	for _, s := range containerStatuses(pod) {
		if why := waitingMessage(pod, s); why != "" {
			return fmt.Sprintf("container %s: %s", s.Name, why)
		}
	}
	return ""
}

// containerStatuses returns the statuses of the containers, in the order in which they start.
func containerStatuses(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
}

// crashLoopRestarts is how many restarts make a crash loop: a single one needs no human.
const crashLoopRestarts = 2

// crashLoopMessage says how a container that should keep running last stopped. What it did before it became ready in
// its present run no longer counts.
func crashLoopMessage(pod *corev1.Pod) string {
	for _, s := range pod.Status.ContainerStatuses {
		last := cmp.Or(s.State.Terminated, s.LastTerminationState.Terminated)
		if last != nil && s.RestartCount >= crashLoopRestarts && !lostReadiness(pod, s.State.Running) {
			return fmt.Sprintf("container %s: %s", s.Name, exitMessage(pod, s.Name, last))
		}
	}
	return ""
}

// lostReadiness reports whether the pod ceased to be ready during this run of its container.
func lostReadiness(pod *corev1.Pod, run *corev1.ContainerStateRunning) bool {
	return run != nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse && c.LastTransitionTime.After(run.StartedAt.Time)
	})
}

func exitMessage(pod *corev1.Pod, container string, last *corev1.ContainerStateTerminated) string {
	return fmt.Sprintf("keeps stopping: exit code %d (%s)%s%s", last.ExitCode, last.Reason, startErrorMessage(last),
		lastWords(pod, container, last))
}

// lastWordsPrefix starts the part of a message that may differ each time a container stops.
const lastWordsPrefix = "; it last said: "

// lastWords quotes the last line that a container logged before it failed. The kubelet reports it of those whose log may be shown:
// their kind sets the policy.
func lastWords(pod *corev1.Pod, container string, last *corev1.ContainerStateTerminated) string {
	text := strings.TrimSpace(last.Message)
	c, _ := findContainer(pod, container)
	if text == "" || startErrorMessage(last) != "" || c.TerminationMessagePolicy != corev1.TerminationMessageFallbackToLogsOnError {
		return ""
	}
	return lastWordsPrefix + untrusted.Sanitize(text[strings.LastIndexByte(text, '\n')+1:])
}

// keepLastWords returns the message of Degraded, if the new one differs from it in nothing but what a container last said: a log
// has the time in each line.
func keepLastWords(list []metav1.Condition, next string) string {
	degraded := meta.FindStatusCondition(list, commonv1.ConditionDegraded)
	if degraded == nil {
		return next
	}
	former, _, quotes := strings.Cut(degraded.Message, lastWordsPrefix)
	if cause, _, quoted := strings.Cut(next, lastWordsPrefix); quoted && quotes && former == cause {
		return degraded.Message
	}
	return next
}

// waitingMessage names the cause, not the phase of the kubelet's back-off.
func waitingMessage(pod *corev1.Pod, s corev1.ContainerStatus) string {
	if s.State.Waiting == nil {
		return ""
	}
	switch reason, text := s.State.Waiting.Reason, s.State.Waiting.Message; reason {
	case "ErrImagePull", "ImagePullBackOff":
		if _, cause, found := strings.Cut(text, "ErrImagePull: "); found {
			text = cause
		}
		return fmt.Sprintf("image %q cannot be pulled: %s", s.Image, text)
	case "ErrImageNeverPull", "InvalidImageName", "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		return fmt.Sprintf("%s: %s", reason, text)
	case "CrashLoopBackOff":
		if last := s.LastTerminationState.Terminated; last != nil {
			return exitMessage(pod, s.Name, last)
		}
		return "keeps stopping"
	}
	return ""
}

// maxStartError is how many bytes of a container runtime's message are quoted.
const maxStartError = 512

// containerID matches the id of a container, which a runtime names in paths.
var containerID = regexp.MustCompile(`[0-9a-f]{64}`)

// startErrorMessage says in the runtime's words why a container could not even start. The words of one that ran are
// its own, and may be no one's business.
func startErrorMessage(end *corev1.ContainerStateTerminated) string {
	line, _, _ := strings.Cut(strings.TrimSpace(end.Message), "\n")
	if line == "" || end.Reason != "StartError" && end.Reason != "ContainerCannotRun" {
		return ""
	}
	line = containerID.ReplaceAllString(line, "…")
	return ": " + Truncate(line, maxStartError)
}
