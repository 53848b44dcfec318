package activity

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/activity/internal/guard"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once"
)

// What a kubelet says of the containers of a pod: the command's, and others that an
// admission webhook or somebody with a debugger has added.

const (
	// reasonStatusUnknown is the kubelet's reason for a container that it has lost sight of.
	reasonStatusUnknown = "ContainerStatusUnknown"
	// reasonRestartingAll is the reason for one that it removed because another container of the pod,
	// by its restartPolicyRules, had all of them restarted.
	reasonRestartingAll = "RestartingAllContainers"
)

// commandEnded reports whether the command has ended, or is never to start. Somebody else's
// container that continues makes no difference.
func commandEnded(pod *corev1.Pod) bool {
	return once.PodEnded(pod) || restartedUnobserved(pod) || wasObserved(commandTermination(commandStatus(pod))) && !allContainersEnded(pod)
}

// commandTermination returns how the command's container ended, or nil where that is not said. The
// container is started once; where it is started again, the guard refuses, and the start
// before counts.
func commandTermination(status corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if last := status.LastTerminationState.Terminated; isConclusive(last) {
		return last
	}
	return status.State.Terminated
}

// reportOf returns the guard's report on how the command ended; one that says nothing if there is none.
func reportOf(t *corev1.ContainerStateTerminated) guard.Report {
	if t != nil {
		if _, report, ok := guard.SplitMessage(t.Message); ok {
			return report
		}
	}
	return guard.Report{OOMKills: -1}
}

// messageOf returns what the command wrote as its termination message, if it did.
func messageOf(t *corev1.ContainerStateTerminated) string {
	message, _, _ := guard.SplitMessage(t.Message)
	return message
}

// finishedAt returns when the command ended. Its container may have ended later, when all output was read.
func finishedAt(t *corev1.ContainerStateTerminated) metav1.Time {
	if ended := metav1.Unix(reportOf(t).Ended, 0); ended.After(t.StartedAt.Time) && ended.Before(&t.FinishedAt) {
		return ended
	}
	return t.FinishedAt
}

// wasObserved reports whether the kubelet saw the container end.
func wasObserved(t *corev1.ContainerStateTerminated) bool {
	return t != nil && t.Reason != reasonStatusUnknown && t.Reason != reasonRestartingAll
}

// isConclusive reports whether it is known how the command ended, as opposed to a start that
// the guard refused.
func isConclusive(t *corev1.ContainerStateTerminated) bool {
	return wasObserved(t) && !guardRefused(t, guard.StartedBefore)
}

// restartedUnobserved reports whether the kubelet starts the command's container a second time
// though it is not known how the first start ended: a node that lost what it knew of the
// pod does so. That container has another ID than the one seen to run, or the kubelet
// says that it lost the first.
func restartedUnobserved(pod *corev1.Pod) bool {
	status := commandStatus(pod)
	last := status.LastTerminationState.Terminated
	seen := pod.Annotations[annotationStartMark]
	another := seen != "" && status.ContainerID != "" && status.ContainerID != seen
	return !isConclusive(last) && (another || last != nil && status.RestartCount > 0)
}

// allContainersEnded reports whether all containers have ended, those of others too: then the
// kubelet's last report on the pod, its phase and its reason, comes by itself.
func allContainersEnded(pod *corev1.Pod) bool {
	s := pod.Status
	return !hasLiveContainer(pod) && !slices.ContainsFunc(slices.Concat(s.EphemeralContainerStatuses, sidecarStatuses(pod)), isLive)
}

// hasLiveContainer reports whether a container runs, or may yet, that the kubelet does not end by itself: it ends only
// the sidecars among the init containers, and ephemeral ones. Such a pod may continue for ever.
func hasLiveContainer(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool {
		return isLive(findContainerStatus(pod.Status.ContainerStatuses, c.Name))
	})
}

// isLive reports whether a container runs, or may yet.
func isLive(s corev1.ContainerStatus) bool { return s.State.Terminated == nil }

// sidecarStatuses returns the statuses of the init containers that run next to the others.
func sidecarStatuses(pod *corev1.Pod) []corev1.ContainerStatus {
	var all []corev1.ContainerStatus
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; isSidecar(c) {
			all = append(all, findContainerStatus(pod.Status.InitContainerStatuses, c.Name))
		}
	}
	return all
}

func isSidecar(c *corev1.Container) bool {
	return ptr.Deref(c.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways
}

// failedInit returns the first init container that was seen to fail, and how: those after it,
// and the command's, do not start. Sidecars do not count: one that fails is started again,
// and its last failure is being killed with the pod.
func failedInit(pod *corev1.Pod) (name string, how *corev1.ContainerStateTerminated) {
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		t := findContainerStatus(pod.Status.InitContainerStatuses, c.Name).State.Terminated
		if wasObserved(t) && t.ExitCode != 0 && !isSidecar(c) {
			return c.Name, t
		}
	}
	return "", nil
}

// succeeded reports whether the command ended well, however other containers of the pod ended.
func succeeded(pod *corev1.Pod, ran *corev1.ContainerStateTerminated) bool {
	if wasObserved(ran) {
		return ran.ExitCode == 0
	}
	return pod.Status.Phase == corev1.PodSucceeded
}

// timedOut reports whether the command did not end within activeDeadlineSeconds. The kubelet
// counts them from startTime, to the second, by the clock that also gives the container times;
// its reason alone may be due to another container, which continued after the command's end.
func timedOut(pod *corev1.Pod, ran *corev1.ContainerStateTerminated) bool {
	stopped := pod.Status.Reason == commonv1.ReasonDeadlineExceeded
	if !wasObserved(ran) || ran.FinishedAt.IsZero() || pod.Status.StartTime == nil || pod.Spec.ActiveDeadlineSeconds == nil {
		return stopped
	}
	at := pod.Status.StartTime.Add(time.Duration(*pod.Spec.ActiveDeadlineSeconds) * time.Second)
	return (stopped || !once.PodEnded(pod)) && !finishedAt(ran).Time.Before(at)
}

// guardRefused reports whether the guard did not start the command, for that reason.
func guardRefused(ran *corev1.ContainerStateTerminated, why string) bool {
	return ran.ExitCode == guard.ExitRefused && firstLine(ran.Message) == why
}

// commandStatus returns the status of the command's container; it is empty when the kubelet has said nothing.
func commandStatus(pod *corev1.Pod) corev1.ContainerStatus {
	if pod == nil {
		return corev1.ContainerStatus{}
	}
	return findContainerStatus(pod.Status.ContainerStatuses, appName)
}

func findContainerStatus(all []corev1.ContainerStatus, container string) corev1.ContainerStatus {
	for _, s := range all {
		if s.Name == container {
			return s
		}
	}
	return corev1.ContainerStatus{}
}

// startedAt returns when a container started, or nil for one that never did: the runtime's 0
// reaches us as the first second of 1970.
func startedAt(t *corev1.ContainerStateTerminated) *metav1.Time {
	if t.StartedAt.Unix() <= 0 {
		return nil
	}
	return t.StartedAt.DeepCopy()
}

// signal returns the signal that ended the command; most runtimes give only the exit code 128 + signal.
func signal(t *corev1.ContainerStateTerminated) *int32 {
	const shell, last = 128, 64 // SIGRTMAX
	switch {
	case t.Signal != 0:
		return ptr.To(t.Signal)
	case t.ExitCode > shell && t.ExitCode <= shell+last:
		return ptr.To(t.ExitCode - shell)
	}
	return nil
}
