package redis

import (
	"cmp"
	"testing"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

func TestAnUpgradeRollsNothing(t *testing.T) {
	releases.Workloads(t, "Redis", func(r *cachev1alpha1.Redis) any {
		c := childInputs{
			credentials: passwords, settings: settings{Live: liveDirectives(r, 0)}, replicas: size(r),
			image: cmp.Or(r.Spec.Image, "redis:x"), // what runs is kept
		}
		if r.Spec.Storage != nil {
			c.volumeSize = r.Spec.Storage.Size
		}
		return statefulSet(r, c)
	})
}
