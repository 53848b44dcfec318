package redis

import (
	"time"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// loginRetry is how long a replica may take to reach its master by the login that it was told. Then it is
// told once more, and its master to admit it: somebody may have changed the users of either by hand. The limit is
// several times what a replica needs to reconnect, which it tries once a second.
const loginRetry = 5 * time.Second

func setLoginSent(now time.Time) func(*topology.SentCommands) {
	return func(c *topology.SentCommands) { c.LoginSent, c.LinkedAt = true, now }
}

// fillCommands fills in what the processes were told, and forgets those that are gone.
func (m *memory) fillCommands(redis *cachev1alpha1.Redis, asked []*topology.Node, now time.Time) {
	known, unlock := m.Lock(redis)
	defer unlock()
	running := map[string]topology.SentCommands{}
	for _, one := range asked {
		if was, told := known.commands[one.RunID]; told && one.Answer == wire.Reached {
			if one.LinkUp || one.Syncing {
				was.LinkedAt = now
			}
			was.LoginSent = was.LoginSent && now.Sub(was.LinkedAt) < loginRetry
			running[one.RunID], one.SentCommands = was, was
		}
	}
	known.commands = running
}

// noteCommand changes what is known of the commands that a process was sent.
func (m *memory) noteCommand(redis *cachev1alpha1.Redis, runID string, change func(*topology.SentCommands)) {
	known, unlock := m.Lock(redis)
	defer unlock()
	c := known.commands[runID]
	change(&c)
	known.commands[runID] = c
}

// forgetLogins forgets which logins were sent to the replicas: they are derived from another password now.
func (m *memory) forgetLogins(redis *cachev1alpha1.Redis) {
	known, unlock := m.Lock(redis)
	defer unlock()
	for runID, c := range known.commands {
		c.LoginSent = false
		known.commands[runID] = c
	}
}

// forgetServers forgets what the servers were told and what they run with.
func (m *memory) forgetServers(redis *cachev1alpha1.Redis) {
	known, unlock := m.Lock(redis)
	defer unlock()
	known.commands, known.passwordReplies, known.settingsReplies = map[string]topology.SentCommands{}, map[string]passwordReply{}, map[string]settingsReply{}
}
