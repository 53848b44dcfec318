package redis

import (
	"maps"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/node"
)

// tuned is what a process was told.
type tuned struct {
	told     map[string]string // all directives
	refused  map[string]string // those that it would not take, and its words
	stuck    string            // why it does not persist in another way, in its words
	dumping  bool              // it was asked for a snapshot
	dumpedAt int64             // when the one before was taken
}

// tunable are the directives that a node is told at once. How it persists is
// changed in steps.
func tunable(r *cachev1alpha1.Redis, m member) map[string]string {
	list := live(r, m.limit)
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

// tune fills into the world what its processes are known to run with.
func (m *memory) tune(redis *cachev1alpha1.Redis, w *world) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, running := m.of(redis), map[string]tuned{}
	wanted := map[int64]map[string]string{} // by limit, which mostly is the same
	for i := range w.members {
		one := &w.members[i]
		was, told := known.tuned[one.RunID]
		if told && one.Answer == node.Reached {
			running[one.RunID] = was
		}
		if wanted[one.limit] == nil {
			wanted[one.limit] = tunable(redis, *one)
		}
		one.untuned, one.refused = !maps.Equal(was.told, wanted[one.limit]), map[string]string{}
		if !one.untuned {
			maps.Copy(one.refused, was.refused)
		}
		if was.stuck != "" && one.AOF != logs(redis) {
			one.refused[appendOnly] = was.stuck
		}
		one.dumped = was.dumping && !one.Saving && one.SavedAt > was.dumpedAt
	}
	known.tuned = running
}

// noteTuned changes what is known of a process.
func (m *memory) noteTuned(redis *cachev1alpha1.Redis, runID string, change func(*tuned)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(redis).tuned
	t := known[runID]
	change(&t)
	known[runID] = t
}
