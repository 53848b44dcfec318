package redis

import (
	"time"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/node"
)

// commanded is what this operator has told one process.
type commanded struct {
	outranked bool // to close the connections of all other operators
	loginTold bool // its login as a replica
	// linkedAt is when it last heard its master by that login, or was told it.
	linkedAt time.Time
}

// loginRetry is how long a replica may take to reach its master by the login that it was told. Then it is
// told once more, and its master to let it in: an operator that was stopped in the middle of a pass, and woke
// after another had taken over, may have told the master otherwise. Several times what a replica needs to
// reconnect, which it tries once a second.
const loginRetry = 5 * time.Second

func toldLogin(now time.Time) func(*commanded) {
	return func(c *commanded) { c.loginTold, c.linkedAt = true, now }
}

// fillCommands fills in what the processes were told, and forgets those that are gone.
func (m *memory) fillCommands(redis *cachev1alpha1.Redis, asked []*member, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, running := m.of(redis), map[string]commanded{}
	for _, one := range asked {
		if was, told := known.commands[one.RunID]; told && one.Answer == node.Reached {
			if one.LinkUp || one.Syncing {
				was.linkedAt = now
			}
			was.loginTold = was.loginTold && now.Sub(was.linkedAt) < loginRetry
			running[one.RunID], one.commanded = was, was
		}
	}
	known.commands = running
}

// noteCommand what a process was told.
func (m *memory) noteCommand(redis *cachev1alpha1.Redis, runID string, change func(*commanded)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(redis)
	c := known.commands[runID]
	change(&c)
	known.commands[runID] = c
}

func (m *memory) caughtUp(redis *cachev1alpha1.Redis) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(redis).caughtUp
}

func (m *memory) noteCaughtUp(redis *cachev1alpha1.Redis) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(redis).caughtUp = true
}
