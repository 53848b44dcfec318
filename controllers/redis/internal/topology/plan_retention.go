package topology

import (
	"slices"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
)

// HasPlace reports whether there is, or may soon be, a pod of that name. A hibernated set wakes with all of its nodes.
func (s Situation) HasPlace(name string) bool {
	return config.Ordinal(name) < max(s.Size, s.DesiredPods())
}

// IsVolumeUnneeded reports whether the node of that volume, which has no place any more, has left in good order: the Redis needs
// nothing, so its master serves and every replica has all of its data, and the volume has nothing that they may lack.
func (s Situation) IsVolumeUnneeded(name string) bool {
	rep := s.Status.Replication
	if rep == nil || s.Hibernate || s.HasPlace(name) || s.IsWritingFiles() || s.Plan().Do != Idle {
		return false
	}
	if _, exists := s.Find(name); exists || s.losesVolume() {
		return false
	}
	if last := s.Status.LastFailover; last != nil && last.Unsafe { // a former master's volume may have what was given up
		return false
	}
	master, serving := s.ServingMaster()
	was := s.Volumes[name].Stamp
	switch {
	case !serving || was.Epoch > rep.Epoch:
		return false
	case was.Epoch == rep.Epoch: // it followed this master, and was taken from the record
		return was.Standing == Behind
	default: // it left under an earlier master: if the present one holds nothing, this volume may be the only one that does
		return master.Keys > 0
	}
}

// losesVolume reports whether a node that is wanted has no volume, or one that is being deleted: what it has in memory ends with its pod.
func (s Situation) losesVolume() bool {
	return slices.ContainsFunc(s.NodeNames(), func(name string) bool {
		volume, stored := s.Volumes[name]
		return !stored || volume.Claim != nil && !volume.Claim.DeletionTimestamp.IsZero()
	})
}

// IsWritingFiles reports whether a server writes all of its data to disk: until that ends, its volume may not have it.
func (s Situation) IsWritingFiles() bool {
	return s.Count(func(m Node) bool { return m.Saving || m.Loading || !s.keepsItsData(m) }) > 0
}
