package conditions

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// FirstStartupWait says what the first pod that is not ready, in the given order, waits for. The pod need not fail:
// the user wants to know what takes long, too.
func FirstStartupWait(pods []corev1.Pod) string { return firstMessage(pods, startupWaitOf) }

func startupWaitOf(pod *corev1.Pod) string {
	if IsPodReady(pod) {
		return ""
	}
	for _, s := range containerStatuses(pod) {
		if why := containerWait(pod, s); why != "" {
			return why
		}
	}
	return ""
}

// containerWait says what a container that is not ready lacks.
func containerWait(pod *corev1.Pod, s corev1.ContainerStatus) string {
	c, runsFirst := findContainer(pod, s.Name)
	switch waits := s.State.Waiting; {
	case waits != nil && (waits.Reason == "ContainerCreating" || waits.Reason == "PodInitializing"):
		return creationWait(pod, s.Name)
	case s.State.Running == nil:
		return ""
	case runsFirst:
		return fmt.Sprintf("container %s runs, and the others wait for its end", s.Name)
	case c.StartupProbe != nil && !ptr.Deref(s.Started, false):
		return fmt.Sprintf("container %s runs, but its startup probe (%s) does not succeed", s.Name, describeProbe(c.StartupProbe))
	case c.ReadinessProbe != nil && !s.Ready:
		return fmt.Sprintf("container %s runs, but its readiness probe (%s) does not succeed", s.Name, describeProbe(c.ReadinessProbe))
	}
	return ""
}

// creationWait distinguishes what a kubelet calls by one name: it pulls images once the pod has its volumes and its
// network.
func creationWait(pod *corev1.Pod, name string) string {
	sandboxed := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReadyToStartContainers && c.Status == corev1.ConditionTrue
	})
	if sandboxed {
		return fmt.Sprintf("container %s: its image is being pulled", name)
	}
	return "its volumes or its network are not there yet; what the volumes name must exist"
}

// findContainer returns the container of that name, and whether it must end before others start.
func findContainer(pod *corev1.Pod, name string) (c corev1.Container, runsFirst bool) {
	named := func(c corev1.Container) bool { return c.Name == name }
	if i := slices.IndexFunc(pod.Spec.Containers, named); i >= 0 {
		return pod.Spec.Containers[i], false
	}
	if i := slices.IndexFunc(pod.Spec.InitContainers, named); i >= 0 {
		return pod.Spec.InitContainers[i], pod.Spec.InitContainers[i].RestartPolicy == nil
	}
	return corev1.Container{}, false
}

// describeProbe says what a probe asks.
func describeProbe(p *corev1.Probe) string {
	switch {
	case p.HTTPGet != nil:
		return fmt.Sprintf("GET %s on port %s", p.HTTPGet.Path, p.HTTPGet.Port.String())
	case p.TCPSocket != nil:
		return "TCP port " + p.TCPSocket.Port.String()
	case p.GRPC != nil:
		return fmt.Sprintf("gRPC on port %d", p.GRPC.Port)
	}
	return "a command"
}
