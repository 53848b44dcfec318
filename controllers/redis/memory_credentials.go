package redis

import (
	"slices"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// lastCredentials returns the passwords that are known, and whether every server that answered refused them.
func (o *objectMemory) lastCredentials() (last config.Credentials, is, lockedOut bool) {
	if o.credentials == nil {
		return last, false, false
	}
	return *o.credentials, true, o.lockedOut
}

func (o *objectMemory) keepCredentials(c config.Credentials) {
	o.credentials = &c
}

// passwordReply is what a process answered when it was sent the passwords to accept.
type passwordReply struct {
	digest  string // of all these passwords
	refused bool
}

// fillPasswords fills into the world which passwords its processes are known to accept, and notes
// whether the operator is locked out by every server that answers.
func (o *objectMemory) fillPasswords(w *topology.World, recorded []cachev1alpha1.RedisNode, c config.Credentials) {
	w.RenewingLogins = c.Rotation.Former
	running, want := map[string]passwordReply{}, c.AcceptedDigest()
	for i := range w.Nodes {
		one := &w.Nodes[i]
		was, sent := o.passwordReplies[one.RunID]
		if sent && one.Answer == wire.Reached {
			running[one.RunID] = was
		}
		one.PasswordsUnsent = !sent && slices.ContainsFunc(recorded,
			func(n cachev1alpha1.RedisNode) bool { return n.RunID != "" && n.RunID == one.RunID })
		one.RefusesPasswords = was.refused && was.digest == want
		one.PasswordsUnknown = one.Answer == wire.Reached && (was.refused || was.digest != want)
	}
	o.passwordReplies = running
	o.lockedOut = w.Count(topology.Node.IsLockedOut) > 0 && w.Count(func(m topology.Node) bool { return m.Answer == wire.Reached }) == 0
}
