package topology_test

import (
	"testing"

	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
)

func TestMargin(t *testing.T) {
	for _, c := range []struct {
		reason string
		size   int32
		given  func(*Scene)
		want   int
	}{
		{"all are in sync: one more may go", 3, func(*Scene) {}, 0},
		{"one is away and may hold what the other lacks", 3, func(s *Scene) { MakeSilent(&s.Nodes[2]) }, -1},
		{"with W=2 any one of two has all", 3, func(s *Scene) {
			s.Status.Replication.EffectiveMinReplicas = 2
			s.Spec.Durability = &cachev1alpha1.RedisDurability{MinReplicasToWrite: ptr.To[int32](2)}
		}, 1},
		{"which the spec no longer asks for", 3, func(s *Scene) { s.Status.Replication.EffectiveMinReplicas = 2 }, 0},
		{"no one is in sync", 3, LinksDown, -1},
		{"there is no master", 3, func(s *Scene) { MakeSilent(&s.Nodes[0]) }, -1},
	} {
		s := Healthy(c.size)
		c.given(s)
		if got, why := s.Situation().QuorumMargin(); got != c.want {
			t.Errorf("%s: %d (%s), want %d", c.reason, got, why, c.want)
		}
	}
}
