package redis

// updatePasswords nodes that may not accept yet what the Secrets say: all of them when a
// password changes, and each new process, which may have started from an older file.
func (s planner) updatePasswords(member) (step, bool) {
	behind := s.where(func(m member) bool { return m.hasOldPasswords() && !m.refusesPasswords })
	return step{do: setPasswords, nodes: namesOf(behind), why: "it may accept other passwords than the Secrets say"}, len(behind) > 0
}

// restartLockedOut a replica that does not know the operator's password: its pod, made
// anew, brings the current file. One at a time and while all others are well,
// as in a roll; the master, which serves its clients, is never touched.
func (s planner) restartLockedOut(master member) (step, bool) {
	locked := s.where(func(m member) bool { return m.isLockedOut() && m.name != master.name })
	well := s.allOthers(master, func(m member) bool { return m.isLockedOut() || m.inSync(master) && !m.deleting })
	if len(locked) == 0 || !well {
		return step{}, false
	}
	return step{do: deletePod, nodes: []string{locked[len(locked)-1].name}, why: "it does not know the operator's password"}, true
}
