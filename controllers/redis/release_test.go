package redis

import (
	"cmp"
	"testing"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

func TestAnUpgradeRollsNothing(t *testing.T) {
	releases.Workloads(t, "Redis", func(r *cachev1alpha1.Redis) any {
		c := childInputs{
			spec: config.Resolve(r), credentials: fixture.Passwords, settings: config.Settings{Live: config.Resolve(r).LiveDirectives(0)}, replicas: config.Resolve(r).Size,
			image: cmp.Or(r.Spec.Image, "redis:x"), // what runs is kept
		}
		if r.Spec.Storage != nil {
			c.volumeSize = r.Spec.Storage.Size
		}
		return statefulSet(r, c)
	})
}
