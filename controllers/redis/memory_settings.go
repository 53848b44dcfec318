package redis

import (
	"maps"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// settingsReply is what a process was told, and what it refused.
type settingsReply struct {
	applied        map[string]string // all directives
	refused        map[string]string // directives that it refused, and its words
	persistRefusal string            // why it refused to persist in another way, in its words
	snapshotAsked  bool              // it was asked for a snapshot
	snapshotBefore int64             // when the one before was taken, in Unix seconds
}

func (m *memory) settings(redis *cachev1alpha1.Redis) (settings, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.get(redis).settings
	return s, s.Live != nil
}

func (m *memory) keepSettings(redis *cachev1alpha1.Redis, s settings) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.get(redis).settings = s
}

// fillSettings fills into the world what its processes are known to run with.
func (m *memory) fillSettings(redis *cachev1alpha1.Redis, asked spec, w *world) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, running := m.get(redis), map[string]settingsReply{}
	wanted := map[int64]map[string]string{} // by limit, which mostly is the same
	for i := range w.members {
		one := &w.members[i]
		was, told := known.settingsReplies[one.RunID]
		if told && one.Answer == wire.Reached {
			running[one.RunID] = was
		}
		if wanted[one.memoryLimit] == nil {
			wanted[one.memoryLimit] = asked.immediateDirectives(one.memoryLimit)
		}
		one.settingsUnknown, one.refusedSettings = !maps.Equal(was.applied, wanted[one.memoryLimit]), map[string]string{}
		if !one.settingsUnknown {
			maps.Copy(one.refusedSettings, was.refused)
		}
		if was.persistRefusal != "" && one.AOF != asked.usesAppendOnly() {
			one.refusedSettings[appendOnly] = was.persistRefusal
		}
		one.snapshotTaken = was.snapshotAsked && !one.Saving && one.SavedAt > was.snapshotBefore
	}
	known.settingsReplies = running
}

// noteSettings changes what is known of a process.
func (m *memory) noteSettings(redis *cachev1alpha1.Redis, runID string, change func(*settingsReply)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.get(redis).settingsReplies
	t := known[runID]
	change(&t)
	known[runID] = t
}
