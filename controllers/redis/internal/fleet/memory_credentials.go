package fleet

import (
	"slices"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// LastCredentials returns the passwords that are known, and whether every server that answered refused them.
func (m *Memory) LastCredentials() (last config.Credentials, ok, lockedOut bool) {
	if m.credentials == nil {
		return last, false, false
	}
	return *m.credentials, true, m.lockedOut
}

// KeepCredentials notes the passwords that the servers are to run with.
func (m *Memory) KeepCredentials(c config.Credentials) {
	m.credentials = &c
}

// passwordReply is what a process answered when it was sent the passwords to accept.
type passwordReply struct {
	digest    string // of all these passwords
	refused   bool
	givesNone bool // it is a master that was made to refuse dumps to backups
}

// noteGivesNone notes that a process refuses dumps to backups from now on. It need not be noted of one that was sent no passwords.
func (m *Memory) noteGivesNone(runID string) {
	if reply, sent := m.passwordReplies[runID]; sent {
		reply.givesNone = true
		m.passwordReplies[runID] = reply
	}
}

// fillPasswords fills into the world which passwords its processes are known to accept, and notes
// whether the operator is locked out by every server that answers. A master that is to give dumps, and was made to refuse them while it
// had replicas, is to be sent the passwords once more, with the right.
func (m *Memory) fillPasswords(w *topology.World, recorded []cachev1alpha1.RedisNode, c config.Credentials, masterGivesDumps bool) {
	w.RenewingLogins = c.Rotation.Former
	running, want := map[string]passwordReply{}, c.AcceptedDigest()
	for i := range w.Nodes {
		node := &w.Nodes[i]
		was, sent := m.passwordReplies[node.RunID]
		if sent && node.Answer == wire.Reached {
			running[node.RunID] = was
		}
		node.PasswordsUnsent = !sent && slices.ContainsFunc(recorded,
			func(n cachev1alpha1.RedisNode) bool { return n.RunID != "" && n.RunID == node.RunID })
		node.RefusesPasswords = was.refused && was.digest == want
		node.PasswordsUnknown = node.Answer == wire.Reached && (was.refused || was.digest != want || was.givesNone && masterGivesDumps)
	}
	m.passwordReplies = running
	m.lockedOut = w.Count(topology.Node.IsLockedOut) > 0 && w.Count(func(n topology.Node) bool { return n.Answer == wire.Reached }) == 0
}
