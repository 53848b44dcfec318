package topology

import "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"

// HasPlace reports whether there is, or may soon be, a pod of that name. A hibernated set wakes with all of its nodes.
func (s Situation) HasPlace(name string) bool {
	return config.Ordinal(name) < max(s.Size, s.DesiredPods())
}

// IsVolumeUnneeded reports whether the node of that volume, which has no place any more, has left in good order: the set needs
// nothing, so its master serves and every replica has all of its data, and the volume has nothing that they may lack.
func (s Situation) IsVolumeUnneeded(name string) bool {
	rep := s.Status.Replication
	if rep == nil || s.Hibernate || s.HasPlace(name) || s.IsWritingFiles() || s.Plan().Do != Idle {
		return false
	}
	if _, exists := s.Find(name); exists {
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

// IsWritingFiles reports whether a server writes all of its data to disk: until that ends, its volume may not have it.
func (s Situation) IsWritingFiles() bool {
	return s.Count(func(m Node) bool { return m.Saving || m.Loading || !s.keepsItsData(m) }) > 0
}
