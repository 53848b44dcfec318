package topology

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
)

// VolumeGrowth looks at the volumes of the nodes that there must be.
func (s Situation) VolumeGrowth() volumes.Growth {
	if s.Storage == nil {
		return volumes.Growth{}
	}
	claims := ClaimsOf(s.Volumes)
	maps.DeleteFunc(claims, func(name string, _ *corev1.PersistentVolumeClaim) bool {
		return config.Ordinal(name) >= max(s.Size, s.DesiredPods())
	})
	g := volumes.GrowthOf(claims, s.Storage.Size)
	g.Refusal = s.GrowthRefusal
	return g
}

// ClaimsOf are the claims of volumes, by node.
func ClaimsOf(all map[string]Volume) map[string]*corev1.PersistentVolumeClaim {
	claims := map[string]*corev1.PersistentVolumeClaim{}
	for name, v := range all {
		claims[name] = v.Claim
	}
	return claims
}

// HaveOutgrown reports whether to recreate a StatefulSet that was made for volumes of that size, because its new nodes
// would get smaller ones than the spec asks for. That waits until every claim asks for the new size and no pod is
// outdated: the pods then fit the new one just as well.
func (s Situation) HaveOutgrown(made resource.Quantity) bool {
	return !s.IsHibernated() && s.Storage != nil && s.VolumeGrowth().HaveOutgrown(made) &&
		s.Count(func(m Node) bool { return m.Outdated || m.Deleting }) == 0
}
