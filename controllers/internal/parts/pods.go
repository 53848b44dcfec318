package parts

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/utils/ptr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// ToApplyConfig turns an API value into its apply configuration, through their JSON. The pair of types is fixed at
// compile time, so a failure is a bug.
func ToApplyConfig[T any](value any) *T {
	var config T
	encoded, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(encoded, &config)
	}
	if err != nil {
		panic(fmt.Sprintf("%T is not a %T: %v", value, config, err))
	}
	return &config
}

// ToApplyConfigs turns a list of API values into apply configurations.
func ToApplyConfigs[T, V any](values []V) []*T {
	configs := make([]*T, 0, len(values))
	for i := range values {
		configs = append(configs, ToApplyConfig[T](values[i]))
	}
	return configs
}

// PodTemplate returns a pod template of the kind, with the user's options around our labels and without a service
// account token. The caller adds the containers.
func PodTemplate(appName, instance string, options commonv1.PodOptions) *corev1ac.PodTemplateSpecApplyConfiguration {
	template := corev1ac.PodTemplateSpec().
		WithLabels(Merge(options.PodLabels, Labels(appName, instance))).
		WithSpec(PodSpec(appName, instance, options))
	if len(options.PodAnnotations) > 0 {
		template.WithAnnotations(options.PodAnnotations)
	}
	return template
}

// PodSpec returns the pod of a PodTemplate alone, for kinds that make bare pods.
func PodSpec(appName, instance string, options commonv1.PodOptions) *corev1ac.PodSpecApplyConfiguration {
	pod := corev1ac.PodSpec().
		WithAutomountServiceAccountToken(false).
		WithEnableServiceLinks(false).
		WithTolerations(ToApplyConfigs[corev1ac.TolerationApplyConfiguration](options.Tolerations)...).
		WithImagePullSecrets(ToApplyConfigs[corev1ac.LocalObjectReferenceApplyConfiguration](options.ImagePullSecrets)...).
		WithTopologySpreadConstraints(topologySpread(appName, instance, options.TopologySpreadConstraints)...)
	if len(options.NodeSelector) > 0 {
		pod.WithNodeSelector(options.NodeSelector)
	}
	if options.Affinity != nil {
		pod.WithAffinity(ToApplyConfig[corev1ac.AffinityApplyConfiguration](options.Affinity))
	}
	if options.PriorityClassName != "" {
		pod.WithPriorityClassName(options.PriorityClassName)
	}
	if options.TerminationGracePeriodSeconds != nil {
		pod.WithTerminationGracePeriodSeconds(*options.TerminationGracePeriodSeconds)
	}
	return pod
}

// Container returns a container with the user's pull policy.
func Container(name, image string, options commonv1.PodOptions) *corev1ac.ContainerApplyConfiguration {
	container := corev1ac.Container().WithName(name).WithImage(image)
	if options.ImagePullPolicy != "" {
		container.WithImagePullPolicy(options.ImagePullPolicy)
	}
	return container
}

// PreStopSeconds returns for how many seconds a container should continue to serve when its pod is to end: the end and the
// news of it set out at the same time, and SIGTERM would arrive first. It is at most half of the pod's grace period.
func PreStopSeconds(options commonv1.PodOptions) int64 {
	const enough, grace = 5, 30 // grace is the API server's default
	return min(enough, ptr.Deref(options.TerminationGracePeriodSeconds, grace)/2)
}

// WithPreStopSleep keeps a container serving for so many seconds before it is asked to end.
func WithPreStopSleep(container *corev1ac.ContainerApplyConfiguration, seconds int64) *corev1ac.ContainerApplyConfiguration {
	if seconds == 0 {
		return container
	}
	return container.WithLifecycle(corev1ac.Lifecycle().WithPreStop(
		corev1ac.LifecycleHandler().WithSleep(corev1ac.SleepAction().WithSeconds(seconds))))
}

// topologySpread returns the user's constraints, or a soft spread over hosts and zones.
func topologySpread(appName, instance string,
	chosen []corev1.TopologySpreadConstraint) []*corev1ac.TopologySpreadConstraintApplyConfiguration {
	if len(chosen) > 0 {
		return ToApplyConfigs[corev1ac.TopologySpreadConstraintApplyConfiguration](chosen)
	}
	soft := func(key string) *corev1ac.TopologySpreadConstraintApplyConfiguration {
		return corev1ac.TopologySpreadConstraint().
			WithMaxSkew(1).
			WithTopologyKey(key).
			WithWhenUnsatisfiable(corev1.ScheduleAnyway).
			WithLabelSelector(LabelSelector(appName, instance))
	}
	return []*corev1ac.TopologySpreadConstraintApplyConfiguration{soft(corev1.LabelHostname), soft(corev1.LabelTopologyZone)}
}

// LabelSelector returns the label selector of one object's pods.
func LabelSelector(appName, instance string) *metav1ac.LabelSelectorApplyConfiguration {
	return metav1ac.LabelSelector().WithMatchLabels(SelectorLabels(appName, instance))
}

// SelectorString returns SelectorLabels as the scale subresource wants them: in one line.
func SelectorString(appName, instance string) string {
	return metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: SelectorLabels(appName, instance)})
}

// RunningImage returns the image of the named container, or the default when there is none: an operator that brings a
// newer default rolls nothing.
func RunningImage(containers []corev1.Container, name, otherwise string) string {
	for _, c := range containers {
		if c.Name == name {
			return c.Image
		}
	}
	return otherwise
}
