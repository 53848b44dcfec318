package easyservice

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// defaultAccount is the ServiceAccount of pods that name none
// (k8s.io/kubernetes/plugin/pkg/admission/serviceaccount: DefaultServiceAccountName).
const defaultAccount = "default"

// rejectManagerAccount returns an error that names the field by which the pods would act as the manager: who may make
// an EasyService in the manager's namespace is not to have its rights. It returns nil when they would not.
func rejectManagerAccount(pods *corev1ac.PodSpecApplyConfiguration, namespace string, manager types.NamespacedName) error {
	account := cmp.Or(ptr.Deref(pods.ServiceAccountName, ""), defaultAccount)
	if (types.NamespacedName{Namespace: namespace, Name: account}) != manager {
		return nil
	}
	const why = "the pods would have the rights of ServiceAccount %q, which is the operator's own; name another"
	if pods.ServiceAccountName != nil {
		return converge.Invalid("serviceAccountName", why, account)
	}
	// Pods that name no account get no token of it, unless a volume asks for one.
	for i, volume := range pods.Volumes {
		if volume.Projected == nil {
			continue
		}
		for j, projection := range volume.Projected.Sources {
			if projection.ServiceAccountToken != nil || projection.PodCertificate != nil {
				return converge.Invalid(fmt.Sprintf("volumes[%d].projected.sources[%d]", i, j), why+" in serviceAccountName", account)
			}
		}
	}
	return nil
}
