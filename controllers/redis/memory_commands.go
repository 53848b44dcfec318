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

// noteOthersKilled notes that a process has closed the connections of all other operators.
func (o *objectMemory) noteOthersKilled(runID string) {
	c := o.commands[runID]
	c.OthersKilled = true
	o.commands[runID] = c
}

// noteLoginSent notes that a process was sent its login.
func (o *objectMemory) noteLoginSent(runID string, now time.Time) {
	c := o.commands[runID]
	c.LoginSent, c.LinkedAt = true, now
	o.commands[runID] = c
}

// forgetLogin has a process sent its login again, should it count again.
func (o *objectMemory) forgetLogin(runID string) {
	c := o.commands[runID]
	c.LoginSent = false
	o.commands[runID] = c
}

// forgetLogins forgets which logins were sent to the replicas: they are derived from another password now.
func (o *objectMemory) forgetLogins() {
	for runID := range o.commands {
		o.forgetLogin(runID)
	}
}

// forgetServers forgets what the servers were sent and what they run with.
func (o *objectMemory) forgetServers() {
	o.commands, o.passwordReplies, o.settingsReplies = map[string]topology.SentCommands{}, map[string]passwordReply{},
		map[string]settingsReply{}
}
