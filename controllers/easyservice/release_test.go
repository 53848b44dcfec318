package easyservice

import (
	"testing"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

func TestAnUpgradeRollsNothing(t *testing.T) {
	releases.Workloads(t, "EasyService", func(e *appv1.EasyService) any { return deployment(e, template(e, "")) })
}
