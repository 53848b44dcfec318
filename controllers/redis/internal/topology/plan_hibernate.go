package topology

// IsHibernated reports whether no server takes writes and none is to, so that the pods may go. A Redis that wakes
// starts again from its volumes, as a recreated one does.
func (s Situation) IsHibernated() bool {
	return s.Hibernate && s.Status.Replication == nil
}

// hibernateIfAsked ends the writes, waits until every follower has them all, and then saves that there is no
// master. What is wrong is repaired first: a Redis does not go to sleep with a lost master, or with servers that do
// not keep data as the spec says by now.
func (s Situation) hibernateIfAsked() (Step, bool) {
	p := s.Status.Replication.Master
	master := s.RecordedMaster(p)
	outdated := s.Where(func(m Node) bool { return m.Outdated })
	switch {
	case !s.Hibernate || s.Ghost != nil || !master.IsProcess(p) || master.Loading || len(outdated) > 0 || master.Master &&
		!s.isPersistenceApplied():
		return Step{}, false
	case master.Master:
		return Step{Do: Fence, NodeNames: []string{master.Name}, Message: "spec.hibernate is true"}, true
	}
	if next, ok := s.stampVolumes(master); ok { // or another volume would look newest
		return next, true
	}
	lagging := s.Where(func(m Node) bool { return m.InSync(master) && m.Offset < master.Offset })
	if len(lagging) > 0 {
		return Step{Do: Wait, NodeNames: NamesOf(lagging), Message: "spec.hibernate is true: the last writes are on their way",
			RequeueAfter: ShortRequeue}, true
	}
	return Step{Do: EndMastership, NodeNames: []string{master.Name}, Message: "spec.hibernate is true"}, true
}
