package topology

import (
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
)

// RunningSize is how many nodes there must be.
func (s Situation) RunningSize() int32 {
	if s.IsHibernated() {
		return 0
	}
	return s.Size
}

// DesiredPods is how many pods there must be: the size, and more while a node beyond it still holds what others may not.
func (s Situation) DesiredPods() int32 {
	if s.IsHibernated() {
		return 0
	}
	holders := s.volumesToHear() // of a Redis that was, until there is a master again
	if rep := s.Status.Replication; rep != nil {
		holders = []string{rep.Master.Name}
		for _, p := range rep.SyncSet {
			holders = append(holders, p.Name)
		}
	}
	count := s.Size
	for _, name := range holders {
		count = max(count, config.Ordinal(name)+1)
	}
	return count
}
