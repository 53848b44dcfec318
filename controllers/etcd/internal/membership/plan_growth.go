package membership

// MayOrphanPods reports whether the StatefulSet can be made anew around its pods beside this step. Each member then has a pod of
// the latest template that stays, and that tells by its permit whose it is while no StatefulSet owns it.
func (s Situation) MayOrphanPods(beside Step) bool {
	if s.Status.Membership == nil || s.Status.Membership.Change != nil || beside.Changes() || beside.RemovesPod() {
		return false
	}
	return len(s.Where(func(m Member) bool { return m.Pod.Outdated || m.Pod.Deleting || m.IsOfFormerMember() })) == 0
}
