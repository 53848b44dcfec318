package topology_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
)

func TestGrowth(t *testing.T) {
	for _, c := range []struct {
		reason         string
		given          func(*Scene)
		claims, behind []string
		outgrown       bool
	}{
		{"both are small", func(*Scene) {}, []string{"a-0", "a-1"}, []string{"a-0", "a-1"}, false},
		{"both have asked", func(s *Scene) { Claims(s, "a-0", "2Gi", "1Gi"); Claims(s, "a-1", "2Gi", "1Gi") }, nil, []string{"a-0", "a-1"}, true},
		{"both have it", func(s *Scene) { Claims(s, "a-0", "2Gi", "2Gi"); Claims(s, "a-1", "2Gi", "3Gi") }, nil, nil, true},
		{"the size in other words", func(s *Scene) { s.Spec.Storage.Size = resource.MustParse("1024Mi") }, nil, nil, false},
		{"one is not bound yet", func(s *Scene) {
			Claims(s, "a-0", "2Gi", "2Gi")
			Claims(s, "a-1", "1Gi", "0").Status.Phase = corev1.ClaimPending
		}, nil, nil, true},
		{"a volume of a node that was scaled away", func(s *Scene) {
			Claims(s, "a-0", "2Gi", "2Gi")
			Claims(s, "a-1", "2Gi", "2Gi")
			Claims(s, "a-2", "1Gi", "1Gi")
		}, nil, nil, true},
		{"not while a pod is outdated", func(s *Scene) {
			Claims(s, "a-0", "2Gi", "2Gi")
			Claims(s, "a-1", "2Gi", "2Gi")
			s.Nodes[1].Outdated = true
		}, nil, nil, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := Growing()
			c.given(s)
			outgrown := s.Situation().HaveOutgrown(resource.MustParse("1Gi"))
			g := s.Situation().VolumeGrowth()
			if !slices.Equal(g.ToRequest, c.claims) || !slices.Equal(g.Undersized, c.behind) || outgrown != c.outgrown {
				t.Errorf("got %+v, outgrown %t", g, outgrown)
			}
		})
	}
}
