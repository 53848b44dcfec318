package redis

// updatePasswords tells the Secrets' passwords to nodes that may not accept them yet: all of them when a
// password changes, and each new process, which may have started from an older file.
func (s situation) updatePasswords(member) (step, bool) {
	behind := s.where(func(m member) bool { return m.hasOldPasswords() && !m.refusesPasswords })
	return step{do: setPasswords, nodes: namesOf(behind), message: "it may accept other passwords than the Secrets say"}, len(behind) > 0
}

// restartLockedOut deletes the pod of a replica that does not know the operator's password: the new pod brings
// the current file. It does so for one at a time and while all others are well, as in a roll, and never touches
// the master, which serves its clients.
func (s situation) restartLockedOut(master member) (step, bool) {
	locked := s.where(func(m member) bool { return m.isLockedOut() && m.name != master.name })
	well := s.allOthers(master, func(m member) bool { return m.isLockedOut() || m.inSync(master) && !m.deleting })
	if len(locked) == 0 || !well {
		return step{}, false
	}
	return step{do: deletePod, nodes: []string{locked[len(locked)-1].name}, message: "it does not know the operator's password"}, true
}
