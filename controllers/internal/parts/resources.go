package parts

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
)

// Defaults are those that a pod template is made with where its spec does not say. A newer operator may have other ones; which a
// workload gets is decided by converge.ChooseDefaults.
type Defaults int

const (
	// FormerDefaults are those of 0.2.0-rc.1 and before: no resources but those of the spec, and memory limits.
	FormerDefaults Defaults = iota
	// CurrentDefaults give each container resources.
	CurrentDefaults
)

// AnnotationDefaults is on a pod template that is made with other than the FormerDefaults.
const AnnotationDefaults = "mainstay-operator.io/template-defaults"

// MarkDefaults notes in a template which defaults it is made with.
func MarkDefaults(template *corev1ac.PodTemplateSpecApplyConfiguration, d Defaults) *corev1ac.PodTemplateSpecApplyConfiguration {
	if d == FormerDefaults {
		return template
	}
	return template.WithAnnotations(map[string]string{AnnotationDefaults: "1"})
}

// HelperResources are those of an init container that copies one program of some 50 MB into the pod and ends. An init container
// counts only if it takes more than the containers that run later do together.
func HelperResources() corev1.ResourceRequirements { return Resources("10m", "16Mi", "500m", "64Mi") }

// Resources returns requests and limits; a limit of "" is none.
func Resources(cpu, memory, cpuLimit, memoryLimit string) corev1.ResourceRequirements {
	list := func(cpu, memory string) corev1.ResourceList {
		l := corev1.ResourceList{}
		for name, value := range map[corev1.ResourceName]string{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory} {
			if value != "" {
				l[name] = resource.MustParse(value)
			}
		}
		return l
	}
	return corev1.ResourceRequirements{Requests: list(cpu, memory), Limits: list(cpuLimit, memoryLimit)}
}

// FillResources adds what the spec leaves out. It adds no request where the spec has a limit, since the API server then requests
// as much as the limit, which is what its user expects. A limit that it adds is no less than the request.
func FillResources(given, defaults corev1.ResourceRequirements) corev1.ResourceRequirements {
	full := *given.DeepCopy()
	add := func(list *corev1.ResourceList, name corev1.ResourceName, value resource.Quantity) {
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		(*list)[name] = value
	}
	for name, value := range defaults.Requests {
		_, requested := given.Requests[name]
		if _, limited := given.Limits[name]; !requested && !limited {
			add(&full.Requests, name, value)
		}
	}
	for name, value := range defaults.Limits {
		if _, limited := given.Limits[name]; limited {
			continue
		}
		if requested := given.Requests[name]; requested.Cmp(value) > 0 {
			value = requested
		}
		add(&full.Limits, name, value)
	}
	return full
}

// WithResources sets the resources of a container, unless there are none.
func WithResources(c *corev1ac.ContainerApplyConfiguration, r corev1.ResourceRequirements) *corev1ac.ContainerApplyConfiguration {
	return c.WithResources(ToApplyConfig[corev1ac.ResourceRequirementsApplyConfiguration](r))
}

// Bytes returns a quantity in bytes, rounded up. Unlike Quantity.Value, it never wraps: it is 0 for a negative quantity, and the largest
// int64 for more than that. Unlike Quantity.Cmp, it costs no more than the quantity is long: a tenant may write 1e2000000000.
func Bytes(q resource.Quantity) int64 {
	switch x := q.AsApproximateFloat64(); {
	case x >= math.MaxInt64:
		return math.MaxInt64
	case x <= 0:
		return 0
	case x < 1:
		return 1
	}
	return q.Value()
}
