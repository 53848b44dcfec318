package conditions

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/untrusted"
)

// maxRefusal is how many bytes are quoted of why a pod is refused. A quota of four resources takes some 400.
const maxRefusal = 1024

// AsksForLimits reports whether a pod was refused because a quota of its namespace wants resources that a container does not name
// (k8s.io/kubernetes/pkg/quota/v1/evaluator/core: podComputeQuotaResources).
func AsksForLimits(err error) bool {
	return apierrors.IsForbidden(err) && asksForResources(err.Error())
}

func asksForResources(words string) bool { return strings.Contains(words, "must specify") }

// exceedsDefaultLimit reports whether the disk space that a container requests is more than a LimitRange allows containers without a limit
// (k8s.io/kubernetes/pkg/apis/core/validation: ValidateContainerResourceRequirements).
func exceedsDefaultLimit(words string) bool {
	return strings.Contains(words, "must be less than or equal to ephemeral-storage limit")
}

// RefusalMessage says that pods cannot be created, why in the words of the API server, and what to do. field is where the spec has
// the pods' resources.
func RefusalMessage(words, field string) string {
	return "pods cannot be created: " + untrusted.SanitizeTo(words, maxRefusal) + RefusalAdvice(words, field)
}

// RefusalAdvice says what to do about a pod that a quota or a LimitRange refuses, to be added to the API server's words; "" for others,
// about which only their authors know. field is where the spec has the pod's resources; "" if no field has them.
func RefusalAdvice(words, field string) string {
	if field == "" {
		return adviceWithoutField(words)
	}
	switch {
	case exceedsDefaultLimit(words), asksForResources(words) && strings.Contains(words, "ephemeral-storage"):
		return ". Set limits.ephemeral-storage in " + field
	case asksForResources(words):
		return ". Set requests and limits of cpu and memory in " + field
	case strings.Contains(words, "exceeded quota"):
		return ". Raise the ResourceQuota, or ask for less in " + field
	case strings.Contains(words, "usage per Container") || strings.Contains(words, "usage per Pod"):
		return ". The LimitRange of the namespace allows other values: change it, or " + field
	}
	return ""
}

func adviceWithoutField(words string) string {
	switch {
	case exceedsDefaultLimit(words):
		return ". Raise the default limit of the LimitRange in the namespace"
	case asksForResources(words):
		return ". Create a LimitRange with default requests and limits in the namespace"
	case strings.Contains(words, "exceeded quota"):
		return ". Raise the ResourceQuota"
	case strings.Contains(words, "usage per "):
		return ". Change the LimitRange of the namespace"
	}
	return ""
}
