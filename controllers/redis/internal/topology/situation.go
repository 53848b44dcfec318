package topology

import (
	"time"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
)

// Situation is what a decision is made from: what is asked for, what is recorded, and what one pass saw.
type Situation struct {
	config.Spec
	Status *cachev1alpha1.RedisStatus
	World
}

// ServingMaster gives the recorded master, and reports whether it serves.
func (s Situation) ServingMaster() (Node, bool) {
	if s.Status.Replication == nil {
		return Node{}, false
	}
	m := s.RecordedMaster(s.Status.Replication.Master)
	return m, m.IsProcess(s.Status.Replication.Master) && m.Master
}

// PodRolesDelay returns for how long no pod may get another role yet, after clients were led to another master. It is 0 if
// there was no master before, or if the same one is master again: then no route has changed.
func (s Situation) PodRolesDelay() time.Duration {
	if last := s.Status.LastFailover; last == nil || last.From == "" || last.From == last.To {
		return 0
	}
	return max(0, OldClientTime-s.SinceRouted)
}
