package activity

import (
	"cmp"
	"testing"

	corev1 "k8s.io/api/core/v1"

	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

// TestAnUpgradeRollsNothing checks that a pod that the last release journaled and this one
// makes is the same, but for its resources: those of this release are for each pod that is created from now on. A pod that
// exists is never replaced.
func TestAnUpgradeRollsNothing(t *testing.T) {
	releases.Workloads(t, "Activity", func(a *egov1.Activity) any {
		a.UID, a.Status.Image = "abcdef-1", cmp.Or(a.Spec.Image, "busybox")
		pod := desiredPod(a, egov1.Attempt{Number: 1, PodName: podName(a, 1)})
		for i := range pod.Spec.Containers {
			pod.Spec.Containers[i].Resources = corev1.ResourceRequirements{}
		}
		return pod
	})
}
