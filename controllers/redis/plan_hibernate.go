package redis

// isHibernated reports whether nobody takes writes and nobody is to, so that the pods may go. A set that wakes
// begins again from its volumes, as one made anew does.
func (s situation) isHibernated() bool {
	return s.Hibernate && s.Status.Replication == nil
}

// runningSize is how many nodes there must be.
func (s situation) runningSize() int32 {
	if s.isHibernated() {
		return 0
	}
	return s.Size
}

// hibernateIfAsked ends the writes, waits until every follower has them all, and then saves that there is no
// master. What is amiss is mended first: a set does not go to sleep with a lost master, or with servers that do
// not keep data as the spec says by now.
func (s situation) hibernateIfAsked() (step, bool) {
	p := s.Status.Replication.Master
	master := s.recordedMaster(p)
	outdated := s.where(func(m member) bool { return m.outdated })
	switch {
	case !s.Hibernate || s.ghost != nil || !master.isProcess(p) || master.Loading || len(outdated) > 0 || master.Master && !s.isPersistenceApplied():
		return step{}, false
	case master.Master:
		return step{do: fence, nodes: []string{master.name}, message: "spec.hibernate is true"}, true
	}
	if next, ok := s.stampVolumes(master); ok { // or another volume would look newest
		return next, true
	}
	lagging := s.where(func(m member) bool { return m.inSync(master) && m.Offset < master.Offset })
	if len(lagging) > 0 {
		return step{do: wait, nodes: namesOf(lagging), message: "spec.hibernate is true: the last writes are on their way", requeueAfter: shortRequeue}, true
	}
	return step{do: endMastership, nodes: []string{master.name}, message: "spec.hibernate is true"}, true
}

// desiredPods is how many there must be: the size, and more while a node beyond it still holds what others may not.
func (s situation) desiredPods() int32 {
	if s.isHibernated() {
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
		count = max(count, ordinal(name)+1)
	}
	return count
}
