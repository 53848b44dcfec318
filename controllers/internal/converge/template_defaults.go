package converge

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// ChooseDefaults returns the defaults that a workload's pod template is to be made with, so that an operator that brings new
// defaults replaces no pod. live is the template as it is, empty where there is no workload; pods are those of the workload; build makes the
// template. The current ones are for a new workload, for one of which no pod has run yet, and for one that gets another template
// anyway: then pods are replaced in any case. A template that was made with them keeps them.
//
// A change that only takes something out of a template, such as a node selector, does not show here: it brings no new defaults, the
// next change does.
func ChooseDefaults(live corev1.PodTemplateSpec, pods []corev1.Pod, build func(parts.Defaults) *corev1ac.PodTemplateSpecApplyConfiguration) parts.Defaults {
	switch {
	case live.Annotations[parts.AnnotationDefaults] != "", !slices.ContainsFunc(pods, func(p corev1.Pod) bool { return hasRun(&p) }):
		return parts.CurrentDefaults
	case live.UID != "": // TemplateOf a pod, which admission has added to
		return parts.FormerDefaults
	case isSubset(encode(build(parts.FormerDefaults)), encode(&live)):
		return parts.FormerDefaults
	}
	return parts.CurrentDefaults
}

// hasRun reports whether a container of the pod has run that is no init container.
func hasRun(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.State.Running != nil || s.State.Terminated != nil || s.RestartCount > 0
	})
}

// encode returns the fields of an API value. The types are fixed at compile time, so a failure is a bug.
func encode(value any) map[string]any {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(value)
	if err != nil {
		panic(fmt.Sprintf("%T cannot be encoded: %v", value, err))
	}
	return fields
}
