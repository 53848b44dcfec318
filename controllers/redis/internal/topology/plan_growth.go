package topology

import (
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
)

// growth is how far the nodes' volumes are from storage.size.
type growth struct {
	ToRequest  []string // nodes whose claims ask for less
	Undersized []string // nodes whose volumes are smaller, whatever their claims ask for
	Message    string   // what the storage says of one of them
}

// VolumeGrowth looks at the volumes of the nodes that there must be. It leaves out one that is not bound, which
// cannot grow yet.
func (s Situation) VolumeGrowth() growth {
	var g growth
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

// MustRemakeSet reports whether to make a StatefulSet anew because its new nodes would get smaller volumes. That
// waits until every claim asks for the new size and no pod is outdated: the pods then fit the new one just as
// well.
func (s Situation) MustRemakeSet(set *appsv1.StatefulSet) bool {
	if s.IsHibernated() || s.Storage == nil || len(set.Spec.VolumeClaimTemplates) == 0 || !set.DeletionTimestamp.IsZero() {
		return false
	}
	made := set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage]
	return made.Cmp(s.Storage.Size) < 0 && len(s.VolumeGrowth().ToRequest) == 0 &&
		s.Count(func(m Member) bool { return m.Outdated || m.Deleting }) == 0
}

// ResizeRetry is the time between attempts to grow a volume that may not grow: nothing
// tells the operator when the storage class comes to allow it.
const ResizeRetry = 30 * time.Second
