package children

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// NodeOf returns what a pod shows of its node, whose server is asked later. The StatefulSet says whether the pod is outdated.
func NodeOf(pod *corev1.Pod, set *appsv1.StatefulSet, now time.Time) topology.Node {
	m := topology.Node{
		Name:            pod.Name,
		PodUID:          pod.UID,
		Address:         pod.Status.PodIP,
		RestartSettings: pod.Annotations[AnnotationConfig],
		Deleting:        !pod.DeletionTimestamp.IsZero(),
		Outdated:        converge.IsOutdated(pod, set),
		NotStarted:      pod.Spec.NodeName == "",
	}
	if m.Deleting {
		// The timestamp is the end of the grace.
		asked := pod.DeletionTimestamp.Add(-time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second)
		m.DeletingFor = now.Sub(asked)
	}
	for _, c := range pod.Status.Conditions {
		switch {
		case c.Type != corev1.PodReady:
		case c.Status == corev1.ConditionTrue:
			m.EndpointChanging = isWithin(now.Sub(c.LastTransitionTime.Time), topology.ReadySettleTime)
		default:
			m.EndpointChanging = isWithin(now.Sub(pod.CreationTimestamp.Time), topology.NewPodGrace)
		}
	}
	for _, c := range pod.Spec.Containers {
		if c.Name == config.AppName {
			m.MemoryLimit = parts.Bytes(*c.Resources.Limits.Memory())
		}
	}
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == config.AppName {
			m.NotStarted = c.State.Waiting != nil && c.LastTerminationState.Terminated == nil && c.RestartCount == 0
			m.Stopped = c.State.Terminated != nil || c.State.Waiting != nil && c.LastTerminationState.Terminated != nil
		}
	}
	return m
}

// isWithin reports whether something is less than limit old. Its time is by another machine's clock: one that is
// ahead must hold nothing up for longer than limit.
func isWithin(age, limit time.Duration) bool { return -limit < age && age < limit }
