package fleet

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
func (m *Memory) fillCommands(asked []*topology.Node, now time.Time) {
	running := map[string]topology.SentCommands{}
	for _, item := range asked {
		if was, known := m.commands[item.RunID]; known && item.Answer == wire.Reached {
			if item.LinkUp || item.Syncing {
				was.LinkedAt = now
			}
			was.LoginSent = was.LoginSent && now.Sub(was.LinkedAt) < loginRetry
			running[item.RunID], item.SentCommands = was, was
		}
	}
	m.commands = running
}

// noteOthersKilled notes that a process has closed the connections of all other operators.
func (m *Memory) noteOthersKilled(runID string) {
	c := m.commands[runID]
	c.OthersKilled = true
	m.commands[runID] = c
}

// noteLoginSent notes that a process was sent its login.
func (m *Memory) noteLoginSent(runID string, now time.Time) {
	c := m.commands[runID]
	c.LoginSent, c.LinkedAt = true, now
	m.commands[runID] = c
}

// forgetLogin has a process sent its login again, should it count again.
func (m *Memory) forgetLogin(runID string) {
	c := m.commands[runID]
	c.LoginSent = false
	m.commands[runID] = c
}

// forgetLogins forgets which logins were sent to the replicas: they are derived from another password now.
func (m *Memory) forgetLogins() {
	for runID := range m.commands {
		m.forgetLogin(runID)
	}
}

// forgetServers forgets what the servers were sent and what they run with.
func (m *Memory) forgetServers() {
	m.commands, m.passwordReplies, m.settingsReplies = map[string]topology.SentCommands{}, map[string]passwordReply{},
		map[string]settingsReply{}
}
