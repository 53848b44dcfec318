package redis

import (
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// loginRetry is how long a replica may take to reach its master by the login that it was sent. Then it is
// sent it once more, and its master is made to admit it: somebody may have changed the users of either by hand. The limit is
// several times what a replica needs to reconnect, which it tries once a second.
const loginRetry = 5 * time.Second

func setLoginSent(now time.Time) func(*topology.SentCommands) {
	return func(c *topology.SentCommands) { c.LoginSent, c.LinkedAt = true, now }
}

// fillCommands fills in what the processes were sent, and forgets those that are gone.
func (o *objectMemory) fillCommands(asked []*topology.Node, now time.Time) {
	running := map[string]topology.SentCommands{}
	for _, item := range asked {
		if was, known := o.commands[item.RunID]; known && item.Answer == wire.Reached {
			if item.LinkUp || item.Syncing {
				was.LinkedAt = now
			}
			was.LoginSent = was.LoginSent && now.Sub(was.LinkedAt) < loginRetry
			running[item.RunID], item.SentCommands = was, was
		}
	}
	o.commands = running
}

// noteCommand changes what is known of the commands that a process was sent.
func (o *objectMemory) noteCommand(runID string, change func(*topology.SentCommands)) {
	c := o.commands[runID]
	change(&c)
	o.commands[runID] = c
}

// forgetLogins forgets which logins were sent to the replicas: they are derived from another password now.
func (o *objectMemory) forgetLogins() {
	for runID, c := range o.commands {
		c.LoginSent = false
		o.commands[runID] = c
	}
}

// forgetServers forgets what the servers were sent and what they run with.
func (o *objectMemory) forgetServers() {
	o.commands, o.passwordReplies, o.settingsReplies = map[string]topology.SentCommands{}, map[string]passwordReply{},
		map[string]settingsReply{}
}
