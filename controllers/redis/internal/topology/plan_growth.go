package topology

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
)

// ResizeRetry is the time between attempts to grow a volume that may not grow: nothing
// tells the operator when the storage class comes to allow it.
const ResizeRetry = 30 * time.Second

// Growth is how far the nodes' volumes are from storage.size.
type Growth struct {
	ToRequest  []string // nodes whose claims ask for less
	Undersized []string // nodes whose volumes are smaller, whatever their claims ask for
	Message    string   // what the storage says of one of them
}

// VolumeGrowth looks at the volumes of the nodes that there must be. It leaves out one that is not bound, which
// cannot grow yet.
func (s Situation) VolumeGrowth() Growth {
	var g Growth
	for _, name := range slices.Sorted(maps.Keys(s.Volumes)) {
		claim := s.Volumes[name].Claim
		if config.Ordinal(name) >= max(s.Size, s.DesiredPods()) || claim == nil || claim.Status.Phase != corev1.ClaimBound {
			continue
		}
		if asked := claim.Spec.Resources.Requests[corev1.ResourceStorage]; asked.Cmp(s.Storage.Size) < 0 {
			g.ToRequest = append(g.ToRequest, name)
		}
		if has := claim.Status.Capacity[corev1.ResourceStorage]; has.Cmp(s.Storage.Size) < 0 {
			g.Undersized = append(g.Undersized, name)
			g.Message = growthMessage(claim, g.Message)
		}
	}
	return g
}

// growthMessage is what the storage says of a claim that grows, else what it said before.
func growthMessage(claim *corev1.PersistentVolumeClaim, before string) string {
	for _, c := range claim.Status.Conditions {
		if c.Status == corev1.ConditionTrue && c.Message != "" {
			return fmt.Sprintf(" (%s: %s)", claim.Name, c.Message)
		}
	}
	return before
}

// HaveOutgrown reports whether to make a StatefulSet anew that was made for volumes of that size, because its new nodes
// would get smaller ones than the spec asks for. That waits until every claim asks for the new size and no pod is
// outdated: the pods then fit the new one just as well.
func (s Situation) HaveOutgrown(made resource.Quantity) bool {
	return !s.IsHibernated() && s.Storage != nil && made.Cmp(s.Storage.Size) < 0 && len(s.VolumeGrowth().ToRequest) == 0 &&
		s.Count(func(m Node) bool { return m.Outdated || m.Deleting }) == 0
}
