package leadership

import (
	"fmt"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Every process in the election writes its identity where the kubelet reads a container's
// termination message. If the kubelet then reports that a container has terminated with this message,
// the process has ended: a container of the same pod before or after it has another message, and a
// container has terminated only when all its processes have. Nothing else proves the end of a leader. A
// connection that breaks and a pod that is gone say nothing about processes.

// TerminationLog is the file in a container that the kubelet reads the termination message from
// (the default of terminationMessagePath).
const TerminationLog = corev1.TerminationMessagePathDefault

// Reasons of a termination that was not observed: a container could no longer be found.
const (
	// reasonUnknown is the container runtime's (unknownExitReason in containerd's CRI plugin).
	reasonUnknown = "Unknown"
	// reasonStatusUnknown is the kubelet's (ContainerReasonStatusUnknown in its package container).
	reasonStatusUnknown = "ContainerStatusUnknown"
	// exitUnknown is the exit code that runtimes give a container whose end they did not see, whatever
	// the reason says (UnknownExitStatus in containerd; UpdateContainerStatus in CRI-O). The manager never ends with it.
	exitUnknown = 255
)

// identity returns the identity of a process in the election: the name of its pod, then its own.
func identity(pod, process string) string { return pod + "_" + process }

// podOf returns the name of the pod of the process with this identity.
func podOf(identity string) string {
	pod, _, _ := strings.Cut(identity, "_")
	return pod
}

// WriteTerminationMessage writes this process' identity to path, a file that only the kubelet creates. If this fails, the
// next leader cannot prove this process' end, and waits until the lease has run out.
func (l *Lease) WriteTerminationMessage(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return fmt.Errorf("writing the identity for the kubelet: %w", err)
	}
	if _, err := file.WriteString(l.Identity()); err != nil {
		_ = file.Close() // the first error says more
		return fmt.Errorf("writing the identity for the kubelet: %w", err)
	}
	return file.Close()
}

// reportsEnd reports whether the kubelet says that the process with this identity has ended.
func reportsEnd(pod *corev1.Pod, identity string) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return provesEnd(c.State.Terminated, identity) || provesEnd(c.LastTerminationState.Terminated, identity)
	})
}

func provesEnd(end *corev1.ContainerStateTerminated, identity string) bool {
	return end != nil && end.Message == identity &&
		end.Reason != reasonUnknown && end.Reason != reasonStatusUnknown && end.ExitCode >= 0 && end.ExitCode != exitUnknown
}
