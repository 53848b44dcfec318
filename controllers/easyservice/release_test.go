package easyservice

import (
	"testing"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

func TestAnUpgradeRollsNothing(t *testing.T) {
	releases.Workloads(t, "EasyService", func(e *appv1.EasyService) any {
		made := deployment(e, template(e, ""))
		if e.Spec.Strategy == nil || e.Spec.Strategy.MinReadySeconds == 0 {
			made.Spec.MinReadySeconds = nil // our own default: it says when a pod counts, and replaces none
		}
		return made
	})
}
