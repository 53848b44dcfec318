package redis

import (
	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/node"
)

// commanded is what this operator has told one process.
type commanded struct {
	outranked bool // to close the connections of all other operators
	loginTold bool // its login as a replica
}

func toldLogin(c *commanded) { c.loginTold = true }

// recallCommands fills in what the processes were told, and forgets those that are gone.
func (m *memory) recallCommands(redis *cachev1alpha1.Redis, asked []*member) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, running := m.of(redis), map[string]commanded{}
	for _, one := range asked {
		if was, told := known.commanded[one.RunID]; told && one.Answer == node.Reached {
			running[one.RunID], one.commanded = was, was
		}
	}
	known.commanded = running
}

// note what a process was told.
func (m *memory) note(redis *cachev1alpha1.Redis, runID string, change func(*commanded)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(redis)
	c := known.commanded[runID]
	change(&c)
	known.commanded[runID] = c
}

func (m *memory) caughtUp(redis *cachev1alpha1.Redis) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(redis).caughtUp
}

func (m *memory) catchUp(redis *cachev1alpha1.Redis) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(redis).caughtUp = true
}
