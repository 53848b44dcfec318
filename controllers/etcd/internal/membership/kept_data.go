package membership

// ExplainKeptData is to be appended to a message about a disk without room. It names the data of members that were given up, whose size no
// server reports; it is empty if the record names none. It does not advise to delete the volume of the only member.
func (s Situation) ExplainKeptData() string {
	record := s.Status.Membership
	if !s.HasStorage || record == nil || len(record.KeptDataIDs) == 0 {
		return ""
	}
	text := "; data of members that were given up (status.membership.keptDataIDs) may take room on the volumes, which is not counted"
	if len(record.Members) > 1 {
		text += ": if it is not needed, delete the PersistentVolumeClaim and the pod of one member at a time, each when all members are healthy"
	}
	return text
}
