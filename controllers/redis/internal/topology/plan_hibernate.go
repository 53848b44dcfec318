package topology

import (
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
)

// IsHibernated reports whether nobody takes writes and nobody is to, so that the pods may go. A set that wakes
// begins again from its volumes, as one made anew does.
func (s Situation) IsHibernated() bool {
	return s.Hibernate && s.Status.Replication == nil
}

// RunningSize is how many nodes there must be.
func (s Situation) RunningSize() int32 {
	if s.IsHibernated() {
		return 0
	}
	return s.Size
}

// hibernateIfAsked ends the writes, waits until every follower has them all, and then saves that there is no
// master. What is amiss is mended first: a set does not go to sleep with a lost master, or with servers that do
// not keep data as the spec says by now.
func (s Situation) hibernateIfAsked() (Step, bool) {
	p := s.Status.Replication.Master
	master := s.RecordedMaster(p)
	outdated := s.Where(func(m Member) bool { return m.Outdated })
	switch {
	case !s.Hibernate || s.Ghost != nil || !master.IsProcess(p) || master.Loading || len(outdated) > 0 || master.Master && !s.isPersistenceApplied():
		return Step{}, false
	case master.Master:
		return Step{Do: Fence, Nodes: []string{master.Name}, Message: "spec.hibernate is true"}, true
	}
	if next, ok := s.StampVolumes(master); ok { // or another volume would look newest
		return next, true
	}
	lagging := s.Where(func(m Member) bool { return m.InSync(master) && m.Offset < master.Offset })
	if len(lagging) > 0 {
		return Step{Do: Wait, Nodes: NamesOf(lagging), Message: "spec.hibernate is true: the last writes are on their way", RequeueAfter: ShortRequeue}, true
	}
	return Step{Do: EndMastership, Nodes: []string{master.Name}, Message: "spec.hibernate is true"}, true
}

// DesiredPods is how many there must be: the size, and more while a node beyond it still holds what others may not.
func (s Situation) DesiredPods() int32 {
	if s.IsHibernated() {
		return 0
	}
	holders := s.newestVolumes() // of a set that was, until there is a master again
	if rep := s.Status.Replication; rep != nil {
		holders = []string{rep.Master.Name}
		for _, member := range rep.SyncSet {
			holders = append(holders, member.Name)
		}
	}
	count := s.Size
	for _, name := range holders {
		count = max(count, config.Ordinal(name)+1)
	}
	return count
}
