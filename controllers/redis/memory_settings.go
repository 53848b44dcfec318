package redis

import (
	"maps"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/node"
)

// settingsReply is what a process was told.
type settingsReply struct {
	told     map[string]string // all directives
	refused  map[string]string // those that it would not take, and its words
	stuck    string            // why it does not persist in another way, in its words
	dumping  bool              // it was asked for a snapshot
	dumpedAt int64             // when the one before was taken
}

// liveSettings are the directives that a node is told at once. How it persists is
// changed in steps.
func liveSettings(r *cachev1alpha1.Redis, m member) map[string]string {
	list := liveDirectives(r, m.limit)
	delete(list, appendOnly)
	return list
}

func (m *memory) settings(redis *cachev1alpha1.Redis) (settings, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.of(redis).settings
	return s, s.Live != nil
}

func (m *memory) keepSettings(redis *cachev1alpha1.Redis, s settings) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(redis).settings = s
}

// fillSettings fills into the world what its processes are known to run with.
func (m *memory) fillSettings(redis *cachev1alpha1.Redis, w *world) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, running := m.of(redis), map[string]settingsReply{}
	wanted := map[int64]map[string]string{} // by limit, which mostly is the same
	for i := range w.members {
		one := &w.members[i]
		was, told := known.settingsReplies[one.RunID]
		if told && one.Answer == node.Reached {
			running[one.RunID] = was
		}
		if wanted[one.limit] == nil {
			wanted[one.limit] = liveSettings(redis, *one)
		}
		one.settingsUnknown, one.refused = !maps.Equal(was.told, wanted[one.limit]), map[string]string{}
		if !one.settingsUnknown {
			maps.Copy(one.refused, was.refused)
		}
		if was.stuck != "" && one.AOF != usesAppendOnly(redis) {
			one.refused[appendOnly] = was.stuck
		}
		one.dumped = was.dumping && !one.Saving && one.SavedAt > was.dumpedAt
	}
	known.settingsReplies = running
}

// noteSettings changes what is known of a process.
func (m *memory) noteSettings(redis *cachev1alpha1.Redis, runID string, change func(*settingsReply)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(redis).settingsReplies
	t := known[runID]
	change(&t)
	known[runID] = t
}
