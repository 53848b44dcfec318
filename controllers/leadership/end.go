package leadership

import (
	"fmt"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// A process that takes part in the election leaves its identity where the kubelet reads a
// container's last words from. When the kubelet reports that a container ended with these words,
// the process has: no other could have left them, neither one of the same pod before nor one
// after it, and a container has ended when its processes have. Nothing else proves the end of a
// leader: neither a connection that breaks nor a pod that is gone tells of its processes.

// TerminationLog is that place, in a container (terminationMessagePath's default).
const TerminationLog = corev1.TerminationMessagePathDefault

// Reasons of an end that was not seen but concluded, from a container that is nowhere to be found.
const (
	// endUnknown is containerd's, and other runtimes', of one that was lost sight of
	// (unknownExitReason of its CRI).
	endUnknown = "Unknown"
	// endUnlocated is the kubelet's, of one that its runtime does not know
	// (kubecontainer.ContainerReasonStatusUnknown).
	endUnlocated = "ContainerStatusUnknown"
)

// identity of a process in the election. The name of its pod comes first.
func identity(pod, process string) string { return pod + "_" + process }

// podOf the process with that identity.
func podOf(identity string) string {
	pod, _, _ := strings.Cut(identity, "_")
	return pod
}

// Sign leaves this process' identity at path, which nobody but the kubelet makes. Without it
// another process has to wait until the lease has run out.
func (l *Lease) Sign(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return fmt.Errorf("leaving this process' identity to the kubelet: %w", err)
	}
	if _, err := file.WriteString(l.Identity()); err != nil {
		_ = file.Close() // the first error tells more
		return fmt.Errorf("leaving this process' identity to the kubelet: %w", err)
	}
	return file.Close()
}

// ended reports whether the kubelet says that the process with that identity has ended.
func ended(pod *corev1.Pod, identity string) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return ends(c.State.Terminated, identity) || ends(c.LastTerminationState.Terminated, identity)
	})
}

func ends(end *corev1.ContainerStateTerminated, identity string) bool {
	return end != nil && end.Message == identity && end.Reason != endUnknown && end.Reason != endUnlocated
}
