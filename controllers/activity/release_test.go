package activity

import (
	"cmp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
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
			c := &pod.Spec.Containers[i]
			if want := parts.Resources("10m", "16Mi", "", ""); !equality.Semantic.DeepEqual(c.Resources, want) {
				t.Errorf("%s has other resources than the defaults: %v", c.Name, c.Resources)
			}
			c.Resources = corev1.ResourceRequirements{}
		}
		return pod
	})
}
