package olm

import (
	"errors"
	"fmt"
	"slices"

	"github.com/operator-framework/api/pkg/manifests"
)

// installed are the kinds that OLM v0.28.0, which is older than Kubernetes 1.31, installs
// from a bundle: the steps of ExecutePlan and supportedKinds, both in its
// pkg/controller/operators/catalog. One object of another kind fails the whole
// InstallPlan. What is for OpenShift's console alone is left out.
var installed = []string{
	"ClusterServiceVersion", "CustomResourceDefinition", "ConfigMap", "Secret", "Service",
	"ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding",
	"PodDisruptionBudget", "PriorityClass", "PrometheusRule", "ServiceMonitor", "VerticalPodAutoscaler",
}

// Installable is nil when the oldest OLM of our users installs every object of the bundle.
func Installable(bundle string) error {
	loaded, err := manifests.GetBundleFromDir(bundle)
	if err != nil {
		return err
	}
	var faults []error
	for _, obj := range loaded.Objects {
		if kind := obj.GetKind(); !slices.Contains(installed, kind) {
			faults = append(faults, fmt.Errorf("%s %s: not every OLM takes a %s from a bundle; take it out in config/manifests", kind, obj.GetName(),
				kind))
		}
	}
	return errors.Join(faults...)
}
