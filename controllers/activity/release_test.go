package activity

import (
	"cmp"
	"testing"

	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

// TestAnUpgradeRollsNothing checks that a pod that the last release journaled and this one
// makes is the same. A pod that runs is never replaced anyway.
func TestAnUpgradeRollsNothing(t *testing.T) {
	releases.Workloads(t, "Activity", func(a *egov1.Activity) any {
		a.UID, a.Status.Image = "abcdef-1", cmp.Or(a.Spec.Image, "busybox")
		return desiredPod(a, egov1.Attempt{Number: 1, PodName: podName(a, 1)})
	})
}
