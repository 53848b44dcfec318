package memcached

import (
	"cmp"
	"testing"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

func TestAnUpgradeRollsNothing(t *testing.T) {
	releases.Workloads(t, "Memcached", func(m *cachev1alpha1.Memcached) any {
		return nodeStatefulSet(m, inputs{image: cmp.Or(m.Spec.Image, image)}) // what runs is kept
	})
}
