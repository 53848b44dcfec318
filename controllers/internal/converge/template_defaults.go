package converge

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// Workload is what is known of a StatefulSet or Deployment and of its pods.
type Workload struct {
	// Template is its pod template as it is; empty where there is no workload.
	Template corev1.PodTemplateSpec
	Pods     []corev1.Pod
	// NoPods reports that it is known why there are no pods: none are wanted, or they are refused. Otherwise the one that is
	// missing may be about to be recreated, such as in a drain.
	NoPods bool
}

// StatefulSetWorkload returns the workload of a StatefulSet; refusal is its PodRefusal.
func StatefulSetWorkload(set *appsv1.StatefulSet, pods []corev1.Pod, refusal string) Workload {
	return Workload{Template: set.Spec.Template, Pods: pods,
		NoPods: refusal != "" || ptr.Deref(set.Spec.Replicas, 1) == 0 && set.Status.Replicas == 0}
}

// DeploymentWorkload returns the workload of a Deployment.
func DeploymentWorkload(d *appsv1.Deployment, pods []corev1.Pod) Workload {
	refused := slices.ContainsFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue
	})
	return Workload{Template: d.Spec.Template, Pods: pods, NoPods: refused || ptr.Deref(d.Spec.Replicas, 1) == 0 && d.Status.Replicas == 0}
}

// neverRan reports whether it is known that no pod has run yet.
func (w Workload) neverRan() bool {
	if len(w.Pods) == 0 {
		return w.NoPods || len(w.Template.Spec.Containers) == 0
	}
	return !slices.ContainsFunc(w.Pods, func(p corev1.Pod) bool { return IsTrimmed(&p) || hasRun(&p) })
}

// ChooseDefaults returns the defaults that a workload's pod template is to be made with, so that an operator that brings new
// defaults replaces no pod. build makes the template. The current defaults are for a new workload, for one of which it is known
// that no pod has run, and for one that gets another template anyway: then pods are replaced in any case. A template that was
// made with them keeps them.
//
// A change that only takes something out of a template, such as a node selector, does not show here: it brings no new defaults, the
// next change does.
func ChooseDefaults(live Workload, build func(parts.Defaults) *corev1ac.PodTemplateSpecApplyConfiguration) parts.Defaults {
	switch {
	case live.Template.Annotations[parts.AnnotationDefaults] != "", live.neverRan():
		return parts.CurrentDefaults
	case live.Template.UID != "": // TemplateOf a pod, which admission has added to
		return parts.FormerDefaults
	case isSubset(encode(build(parts.FormerDefaults)), encode(&live.Template)):
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
