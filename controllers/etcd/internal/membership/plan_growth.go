package membership

// MayOrphanPods reports whether the StatefulSet can be recreated around its pods in parallel to this step. Each member then has a pod of
// the latest template that stays, and that says by its permit whose it is while no StatefulSet owns it.
func (s Situation) MayOrphanPods(step Step) bool {
	if s.Status.Membership == nil || s.Status.Membership.Change != nil || step.Changes() || step.RemovesPod() {
		return false
	}
	return len(s.Where(func(m Member) bool { return m.Pod.Outdated || m.Pod.Deleting || m.IsOfFormerMember() })) == 0
}
