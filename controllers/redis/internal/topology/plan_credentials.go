package topology

import "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"

// updatePasswords sends the Secrets' passwords to nodes that may not accept them yet: all of them when a
// password changes, and each new process, which may have started from an older file.
func (s Situation) updatePasswords(Node) (Step, bool) {
	behind := s.Where(func(m Node) bool { return m.HasOldPasswords() && !m.RefusesPasswords })
	return Step{Do: SetPasswords, NodeNames: NamesOf(behind), Message: "it may accept other passwords than the Secrets say"}, len(behind) > 0
}

// restartLockedOut deletes the pod of a replica that does not know the operator's password: the new pod brings
// the current file. It does so for one at a time and while all others are well, as in a roll, and never touches
// the master, which serves its clients.
func (s Situation) restartLockedOut(master Node) (Step, bool) {
	locked := s.Where(func(m Node) bool { return m.IsLockedOut() && m.Name != master.Name })
	well := s.allOthers(master, func(m Node) bool { return m.IsLockedOut() || m.InSync(master) && !m.Deleting })
	if len(locked) == 0 || !well {
		return Step{}, false
	}
	return Step{Do: DeletePod, NodeNames: []string{locked[len(locked)-1].Name}, Message: "it does not know the operator's password"}, true
}

// EveryNodeAccepts reports whether every server that there is or should be accepts the passwords that the Secrets say. One that
// cannot be asked may accept older ones alone.
func (s Situation) EveryNodeAccepts() bool {
	return s.Ghost == nil && s.Source == nil && len(s.unansweredNodes()) == 0 &&
		s.Count(func(m Node) bool { return m.Answer != wire.Reached || m.PasswordsUnknown }) == 0
}

// LoginsSent reports whether every recorded replica was given its login at the master that serves.
func (s Situation) LoginsSent() bool {
	if _, serving := s.ServingMaster(); !serving {
		return false
	}
	for _, p := range s.Status.Replication.SyncSet {
		if m, _ := s.Find(p.Name); !m.IsProcess(p) || !m.LoginSent {
			return false
		}
	}
	return true
}

// NodesBehind are the nodes that a rotation waits for: they do not answer, or may not accept the next passwords yet.
func (s Situation) NodesBehind() []string {
	behind := s.unansweredNodes()
	for _, m := range s.Nodes {
		if m.Answers() && m.PasswordsUnknown {
			behind = append(behind, m.Name)
		}
	}
	return behind
}
