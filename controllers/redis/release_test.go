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
			spec: resolve(r), credentials: passwords, settings: settings{Live: resolve(r).liveDirectives(0)}, replicas: resolve(r).Size,
			image: cmp.Or(r.Spec.Image, "redis:x"), // what runs is kept
		}
		if r.Spec.Storage != nil {
			c.volumeSize = r.Spec.Storage.Size
		}
		return statefulSet(r, c)
	})
}
