package conditions

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// Starting says what the first pod that is not ready, in the given order, waits for.
// It need not fail: what takes long is what the user wants to know, too.
func Starting(pods []corev1.Pod) string { return first(pods, starting) }

func starting(pod *corev1.Pod) string {
	if PodReady(pod) {
		return ""
	}
	for _, s := range statuses(pod) {
		if why := awaited(pod, s); why != "" {
			return why
		}
	}
	return ""
}

// awaited is what a container is not ready for lack of.
func awaited(pod *corev1.Pod, s corev1.ContainerStatus) string {
	c, before := container(pod, s.Name)
	switch waits := s.State.Waiting; {
	case waits != nil && (waits.Reason == "ContainerCreating" || waits.Reason == "PodInitializing"):
		return created(pod, s.Name)
	case s.State.Running == nil:
		return ""
	case before:
		return fmt.Sprintf("container %s runs, and the others wait for its end", s.Name)
	case c.StartupProbe != nil && !ptr.Deref(s.Started, false):
		return fmt.Sprintf("container %s runs, but its startup probe (%s) does not succeed", s.Name, asked(c.StartupProbe))
	case c.ReadinessProbe != nil && !s.Ready:
		return fmt.Sprintf("container %s runs, but its readiness probe (%s) does not succeed", s.Name, asked(c.ReadinessProbe))
	}
	return ""
}

// created tells what a kubelet calls by one name: images are pulled once the pod has
// its volumes and its network.
func created(pod *corev1.Pod, name string) string {
	sandboxed := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReadyToStartContainers && c.Status == corev1.ConditionTrue
	})
	if sandboxed {
		return fmt.Sprintf("container %s: its image is being pulled", name)
	}
	return "its volumes or its network are not there yet; what the volumes name must exist"
}

// container gives what a name stands for, and whether it must end before others begin.
func container(pod *corev1.Pod, name string) (c corev1.Container, before bool) {
	named := func(c corev1.Container) bool { return c.Name == name }
	if i := slices.IndexFunc(pod.Spec.Containers, named); i >= 0 {
		return pod.Spec.Containers[i], false
	}
	if i := slices.IndexFunc(pod.Spec.InitContainers, named); i >= 0 {
		return pod.Spec.InitContainers[i], pod.Spec.InitContainers[i].RestartPolicy == nil
	}
	return corev1.Container{}, false
}

// asked is what a probe asks.
func asked(p *corev1.Probe) string {
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
