package controllers

import (
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// Bounds of what is kept of a pod that is too large. Texts are in bytes.
const (
	maxPodAnnotations = 6 << 10 // of all; an etcd's permit has some 500
	maxContainers     = 6       // of each list
	maxPorts          = 8       // of a container
	maxConditions     = 10
	maxAddresses      = 2 // one of each IP family
	maxGates          = 8
	maxText           = 128 // also of an argument
	maxImage          = 384
	maxMessages       = 8 << 10 // of all containers together: those of one of ours have 4 KiB at most
)

// keptPodLabels are those that lists select, and that say which template a pod was made from.
var keptPodLabels = []string{
	parts.LabelManagedBy, parts.LabelName, parts.LabelInstance, ownPrefix + "role",
	appsv1.ControllerRevisionHashLabelKey, appsv1.DefaultDeploymentUniqueLabelKey, appsv1.StatefulSetPodNameLabel,
}

// keepWhatIsReadOfPods removes all that no kind reads of a pod: most of it is what we put there ourselves.
func keepWhatIsReadOfPods(pod *corev1.Pod) {
	for key := range pod.Annotations {
		if !strings.HasPrefix(key, ownPrefix) && key != parts.AnnotationRestartedAt {
			delete(pod.Annotations, key)
		}
	}
	s := &pod.Spec
	pod.Spec = corev1.PodSpec{
		NodeName: s.NodeName, ActiveDeadlineSeconds: s.ActiveDeadlineSeconds, SchedulingGates: s.SchedulingGates,
		Containers: keepWhatIsReadOfContainers(s.Containers), InitContainers: keepWhatIsReadOfContainers(s.InitContainers),
	}
	pod.GenerateName = ""
	t := &pod.Status
	pod.Status = corev1.PodStatus{
		ObservedGeneration: t.ObservedGeneration, Phase: t.Phase, Reason: t.Reason, Message: t.Message, Conditions: t.Conditions,
		HostIP: t.HostIP, PodIP: t.PodIP, PodIPs: t.PodIPs, StartTime: t.StartTime, QOSClass: t.QOSClass,
		ContainerStatuses:          keepWhatIsReadOfStatuses(t.ContainerStatuses),
		InitContainerStatuses:      keepWhatIsReadOfStatuses(t.InitContainerStatuses),
		EphemeralContainerStatuses: keepWhatIsReadOfStatuses(t.EphemeralContainerStatuses),
	}
}

func keepWhatIsReadOfStatuses(all []corev1.ContainerStatus) []corev1.ContainerStatus {
	var kept []corev1.ContainerStatus
	for _, s := range all {
		kept = append(kept, corev1.ContainerStatus{Name: s.Name, State: s.State, LastTerminationState: s.LastTerminationState, Ready: s.Ready,
			RestartCount: s.RestartCount, Started: s.Started, Image: s.Image, ImageID: s.ImageID, ContainerID: s.ContainerID})
	}
	return kept
}

func keepWhatIsReadOfContainers(all []corev1.Container) []corev1.Container {
	var kept []corev1.Container
	for i := range all {
		c := &all[i]
		kept = append(kept, corev1.Container{Name: c.Name, Image: c.Image, Args: keepArgument(c.Args), Ports: c.Ports, Resources: c.Resources,
			RestartPolicy: c.RestartPolicy, TerminationMessagePolicy: c.TerminationMessagePolicy, StartupProbe: c.StartupProbe,
			ReadinessProbe: c.ReadinessProbe})
	}
	return kept
}

// keepArgument returns the only argument that a kind reads of a running container.
func keepArgument(all []string) []string {
	i := slices.IndexFunc(all, func(argument string) bool {
		return strings.HasPrefix(argument, etcd.KeptArgument) && len(argument) <= maxText
	})
	if i < 0 {
		return nil
	}
	return []string{all[i]}
}

// trimPod bounds a pod that is too large. What decides over its data stays: whose it is, what it was made from, our finalizer, its
// address, and how its containers are. Without that it would look as if it had never run, and be replaced.
func trimPod(pod *corev1.Pod) *corev1.Pod {
	kept := identity(pod).(*corev1.Pod)
	kept.CreationTimestamp = pod.CreationTimestamp
	kept.Labels = map[string]string{}
	for _, key := range keptPodLabels {
		if value, has := pod.Labels[key]; has {
			kept.Labels[key] = value
		}
	}
	kept.Finalizers = slices.DeleteFunc(slices.Clone(pod.Finalizers),
		func(f string) bool { return !strings.HasPrefix(f, ownPrefix) || len(f) > maxText })
	kept.Finalizers = kept.Finalizers[:min(len(kept.Finalizers), maxGates)]
	kept.Annotations = trimAnnotations(pod.Annotations)
	kept.Annotations[converge.TrimmedAnnotation] = "true"

	kept.Spec = corev1.PodSpec{
		NodeName: pod.Spec.NodeName, ActiveDeadlineSeconds: pod.Spec.ActiveDeadlineSeconds,
		SchedulingGates: slices.Clone(pod.Spec.SchedulingGates[:min(len(pod.Spec.SchedulingGates), maxGates)]),
		Containers:      trimContainers(pod.Spec.Containers), InitContainers: trimContainers(pod.Spec.InitContainers),
	}
	s := &pod.Status
	kept.Status = corev1.PodStatus{
		ObservedGeneration: s.ObservedGeneration, Phase: s.Phase, Reason: cut(s.Reason, maxText), Message: cut(s.Message, maxText),
		HostIP: cut(s.HostIP, maxText), PodIP: cut(s.PodIP, maxText), StartTime: s.StartTime, QOSClass: s.QOSClass,
	}
	for _, address := range s.PodIPs[:min(len(s.PodIPs), maxAddresses)] {
		kept.Status.PodIPs = append(kept.Status.PodIPs, corev1.PodIP{IP: cut(address.IP, maxText)})
	}
	for _, c := range firstConditions(s.Conditions) {
		c.Type, c.Reason, c.Message = corev1.PodConditionType(cut(string(c.Type), maxText)), cut(c.Reason, maxText), cut(c.Message, maxText)
		kept.Status.Conditions = append(kept.Status.Conditions, c)
	}
	for _, e := range s.EphemeralContainerStatuses[:min(len(s.EphemeralContainerStatuses), maxContainers)] {
		none := 0
		kept.Status.EphemeralContainerStatuses = append(kept.Status.EphemeralContainerStatuses, corev1.ContainerStatus{
			Name: cut(e.Name, maxText), State: trimState(e.State, &none)})
	}
	messages := maxMessages
	kept.Status.InitContainerStatuses = trimStatuses(s.InitContainerStatuses, kept.Spec.InitContainers, &messages)
	kept.Status.ContainerStatuses = trimStatuses(s.ContainerStatuses, kept.Spec.Containers, &messages)
	return kept
}

// firstConditions returns as many conditions as are kept: those of Kubernetes and ours before others.
func firstConditions(all []corev1.PodCondition) []corev1.PodCondition {
	foreign := func(c corev1.PodCondition) int {
		if strings.Contains(string(c.Type), "/") && !strings.HasPrefix(string(c.Type), ownPrefix) {
			return 1
		}
		return 0
	}
	sorted := slices.SortedStableFunc(slices.Values(all), func(a, b corev1.PodCondition) int { return foreign(a) - foreign(b) })
	return sorted[:min(len(sorted), maxConditions)]
}

// trimAnnotations returns the short ones, by name, up to a total.
func trimAnnotations(all map[string]string) map[string]string {
	kept, left := map[string]string{}, maxPodAnnotations
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if size := len(key) + len(all[key]); size <= left {
			kept[key], left = all[key], left-size
		}
	}
	return kept
}

func trimContainers(all []corev1.Container) []corev1.Container {
	var kept []corev1.Container
	for i := range all[:min(len(all), maxContainers)] {
		c := &all[i]
		kept = append(kept, corev1.Container{
			Name: c.Name, Image: cut(c.Image, maxImage), Args: keepArgument(c.Args), RestartPolicy: c.RestartPolicy,
			TerminationMessagePolicy: c.TerminationMessagePolicy,
			Ports:                    slices.Clone(c.Ports[:min(len(c.Ports), maxPorts)]),
			Resources: corev1.ResourceRequirements{
				Requests: trimResources(c.Resources.Requests), Limits: trimResources(c.Resources.Limits)},
			StartupProbe: trimProbe(c.StartupProbe), ReadinessProbe: trimProbe(c.ReadinessProbe),
		})
	}
	return kept
}

func trimResources(all corev1.ResourceList) corev1.ResourceList {
	kept := corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		if quantity, has := all[name]; has {
			kept[name] = quantity
		}
	}
	return kept
}

// trimProbe keeps that there is a probe, without what it asks.
func trimProbe(p *corev1.Probe) *corev1.Probe {
	if p == nil {
		return nil
	}
	return &corev1.Probe{PeriodSeconds: p.PeriodSeconds, FailureThreshold: p.FailureThreshold}
}

// trimStatuses keeps those of the containers that are kept. The ends of their messages share what is left: the guard's report is at
// the end.
func trimStatuses(all []corev1.ContainerStatus, of []corev1.Container, left *int) []corev1.ContainerStatus {
	var kept []corev1.ContainerStatus
	for _, s := range all {
		if !slices.ContainsFunc(of, func(c corev1.Container) bool { return c.Name == s.Name }) || len(kept) == maxContainers {
			continue
		}
		kept = append(kept, corev1.ContainerStatus{
			Name: s.Name, State: trimState(s.State, left), LastTerminationState: trimState(s.LastTerminationState, left),
			Ready: s.Ready, RestartCount: s.RestartCount, Started: s.Started,
			Image: cut(s.Image, maxImage), ImageID: cut(s.ImageID, maxImage), ContainerID: cut(s.ContainerID, maxText),
		})
	}
	return kept
}

func trimState(state corev1.ContainerState, left *int) corev1.ContainerState {
	end := func(message string) string {
		message = message[len(message)-min(len(message), *left):]
		*left -= len(message)
		return message
	}
	state = *state.DeepCopy()
	if w := state.Waiting; w != nil {
		w.Reason, w.Message = cut(w.Reason, maxText), end(w.Message)
	}
	if t := state.Terminated; t != nil {
		t.Reason, t.Message, t.ContainerID = cut(t.Reason, maxText), end(t.Message), cut(t.ContainerID, maxText)
	}
	return state
}

func cut(text string, limit int) string { return text[:min(len(text), limit)] }
