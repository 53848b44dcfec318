package children

import (
	"testing"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

func TestAnUpgradeRollsNothing(t *testing.T) {
	releases.Workloads(t, "Redis", func(r *cachev1alpha1.Redis) any { return statefulSet(keptInputs(r)) })
}
