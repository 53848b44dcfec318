package redis

import (
	"slices"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// lastCredentials returns the passwords that are known, and whether every server that answered refused them.
func (m *memory) lastCredentials(redis *cachev1alpha1.Redis) (last config.Credentials, is, lockedOut bool) {
	known, unlock := m.Lock(redis)
	defer unlock()
	if known.credentials == nil {
		return last, false, false
	}
	return *known.credentials, true, known.lockedOut
}

func (m *memory) keepCredentials(redis *cachev1alpha1.Redis, c config.Credentials) {
	known, unlock := m.Lock(redis)
	defer unlock()
	known.credentials = &c
}

// passwordReply is what a process answered when it was told which passwords to accept.
type passwordReply struct {
	digest  string // of all these passwords
	refused bool
}

// fillPasswords fills into the world which passwords its processes are known to accept, and notes
// whether the operator is locked out by every server that answers.
func (m *memory) fillPasswords(redis *cachev1alpha1.Redis, w *topology.World, c config.Credentials) {
	known, unlock := m.Lock(redis)
	defer unlock()
	w.RenewingLogins = c.Rotation.Former
	running, want := map[string]passwordReply{}, c.AcceptedDigest()
	for i := range w.Nodes {
		one := &w.Nodes[i]
		was, told := known.passwordReplies[one.RunID]
		if told && one.Answer == wire.Reached {
			running[one.RunID] = was
		}
		one.PasswordsUnsent = !told && slices.ContainsFunc(redis.Status.Nodes, func(n cachev1alpha1.RedisNode) bool { return n.RunID != "" && n.RunID == one.RunID })
		one.RefusesPasswords = was.refused && was.digest == want
		one.PasswordsUnknown = one.Answer == wire.Reached && (was.refused || was.digest != want)
	}
	known.passwordReplies = running
	known.lockedOut = w.Count(topology.Node.IsLockedOut) > 0 && w.Count(func(m topology.Node) bool { return m.Answer == wire.Reached }) == 0
}

func (m *memory) notePasswords(redis *cachev1alpha1.Redis, runID string, k passwordReply) {
	known, unlock := m.Lock(redis)
	defer unlock()
	known.passwordReplies[runID] = k
}
