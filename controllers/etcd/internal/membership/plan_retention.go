package membership

// HasPlace reports whether there is, or may soon be, a pod of that name.
func (s Situation) HasPlace(pod string) bool { return Ordinal(pod) < s.DesiredPods() }

// IsClaimUnneeded reports whether etcd itself lists no member of that name, and the claim has only what a member of this cluster left:
// data is the cluster that it is marked with. The claim of a member that was given up in a restore or a recovery is needed: it may have
// what the survivor lacks.
func (s Situation) IsClaimUnneeded(pod, data string) bool {
	record := s.Status.Membership
	m, _ := s.Find(pod)
	return s.Listed && m.Listed == nil && m.Pod.UID == "" &&
		record.Change == nil && record.Restore == nil && s.Status.LastRecovery == nil &&
		(data == "" || data == record.Token)
}
