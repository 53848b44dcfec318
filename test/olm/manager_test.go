package olm

import (
	"bytes"
	"os/exec"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// The manager must get the CPU that it leads with, and a place on a node, when users' pods take all the rest.
func TestTheManagerHasItsPlaceOnABusyNode(t *testing.T) {
	found := map[string]corev1.PodSpec{}
	for _, deployment := range csvOf(t, within(t, "bundle")).Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		found["bundle"] = deployment.Spec.Template.Spec
	}
	for _, folder := range []string{"config/default", "config/namespaced"} {
		text, err := exec.CommandContext(t.Context(), within(t, ".bin/kustomize"), "build", within(t, folder)).Output()
		if err != nil {
			t.Fatal(err)
		}
		for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
			var deployment appsv1.Deployment
			if yaml.Unmarshal(document, &deployment) == nil && deployment.Kind == "Deployment" {
				found[folder] = deployment.Spec.Template.Spec
			}
		}
	}
	if len(found) != 3 {
		t.Fatalf("%d of 3 places have a manager", len(found))
	}
	for place, spec := range found {
		manager := spec.Containers[0].Resources
		if spec.PriorityClassName != "system-cluster-critical" {
			t.Errorf("%s: the priority class is %q", place, spec.PriorityClassName)
		}
		if cpu, memory := manager.Requests.Cpu().String(), manager.Requests.Memory().String(); cpu != "250m" || memory != "128Mi" {
			t.Errorf("%s: the manager requests %s of CPU and %s of memory", place, cpu, memory)
		}
		if limit := manager.Limits; limit.Memory().String() != "512Mi" || !limit.Cpu().IsZero() {
			t.Errorf("%s: the manager's limits are %v", place, limit)
		}
	}
}
