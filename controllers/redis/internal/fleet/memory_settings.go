package fleet

import (
	"maps"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// settingsReply is what a process was sent, and what it refused.
type settingsReply struct {
	applied        map[string]string // all directives
	refused        map[string]string // directives that it refused, and its words
	persistRefusal string            // why it refused to persist in another way, in its words
	snapshotAsked  bool              // it was asked for a snapshot
	snapshotBefore int64             // when the one before was taken, in Unix seconds
}

// fillSettings fills into the world what its processes are known to run with.
func (m *Memory) fillSettings(spec config.Spec, w *topology.World) {
	running := map[string]settingsReply{}
	wanted := map[int64]map[string]string{} // by limit, which mostly is the same
	for i := range w.Nodes {
		node := &w.Nodes[i]
		was, sent := m.settingsReplies[node.RunID]
		if sent && node.Answer == wire.Reached {
			running[node.RunID] = was
		}
		if wanted[node.MemoryLimit] == nil {
			wanted[node.MemoryLimit] = spec.ImmediateDirectives(node.MemoryLimit)
		}
		node.SettingsUnknown, node.RefusedSettings = !maps.Equal(was.applied, wanted[node.MemoryLimit]), map[string]string{}
		if !node.SettingsUnknown {
			maps.Copy(node.RefusedSettings, was.refused)
		}
		if was.persistRefusal != "" && node.AOF != spec.UsesAppendOnly() {
			node.RefusedSettings[config.AppendOnly] = was.persistRefusal
		}
		node.SnapshotTaken = was.snapshotAsked && !node.Saving && node.SavedAt > was.snapshotBefore
	}
	m.settingsReplies = running
}

// noteApplied notes which directives a process was sent, and which of them it refused.
func (m *Memory) noteApplied(runID string, applied, refused map[string]string) {
	reply := m.settingsReplies[runID]
	reply.applied, reply.refused = applied, refused
	m.settingsReplies[runID] = reply
}

// notePersistRefusal notes why a process refused to persist in another way, "" if it did not.
func (m *Memory) notePersistRefusal(runID, refusal string) {
	reply := m.settingsReplies[runID]
	reply.persistRefusal = refusal
	m.settingsReplies[runID] = reply
}

// noteSnapshotAsked notes that a process was asked for a snapshot, and when the one before was taken.
func (m *Memory) noteSnapshotAsked(runID string, before int64) {
	reply := m.settingsReplies[runID]
	reply.snapshotAsked, reply.snapshotBefore = true, before
	m.settingsReplies[runID] = reply
}
