package membership

// adoptMembers records a member as it runs, if the record has another in its place or none: the API server was restored from a
// backup that is older. Deleting what the record does not know could take the majority away.
func (s Situation) adoptMembers() (Step, bool) {
	for _, m := range s.Members {
		permit, ok := ParsePermit(m.Pod.Permit)
		runs := ok && m.Listed != nil && m.View.Answered && m.View.ID == m.Listed.ID && permit.Pod == string(m.Pod.UID)
		if runs && (m.Record == nil || m.Record.DataID != permit.Data || m.Record.ID != "" && m.Record.ID != FormatID(m.View.ID)) {
			return Step{Do: AdoptMember, Member: m.Name, Message: "it runs, and the record is older"}, true
		}
	}
	return Step{}, false
}

// deletePodsOfFormerMembers deletes a pod that was permitted to start as a member which is no longer recorded. A server that was
// removed ends by itself; one that still answers may be right, and the record wrong. So may one be that is silent, if etcd lists
// it or cannot be asked.
func (s Situation) deletePodsOfFormerMembers() (Step, bool) {
	if !s.Listed && s.Status.Membership.ClusterID != "" && s.recovery() == "" {
		return Step{}, false
	}
	for _, m := range s.Members {
		isRight := m.Listed != nil && m.Listed.Name != "" && (m.Record == nil || m.Record.ID != FormatID(m.Listed.ID))
		if m.Pod.Permit != "" && !m.Pod.Deleting && !m.View.Answered && !isRight && Ordinal(m.Name) < s.DesiredPods() && m.IsOfFormerMember() {
			return Step{Do: DeletePod, Member: m.Name, Message: "its member is no longer part of the cluster", RequeueAfter: ShortRequeue}, true
		}
	}
	return Step{}, false
}

// IsOfFormerMember reports whether the pod was permitted to start as another member than the recorded one.
func (m Member) IsOfFormerMember() bool {
	permit, _ := ParsePermit(m.Pod.Permit) // one that cannot be read names no member
	return m.Record == nil || permit.Data != m.Record.DataID
}
