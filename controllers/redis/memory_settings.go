package redis

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
func (o *objectMemory) fillSettings(spec config.Spec, w *topology.World) {
	running := map[string]settingsReply{}
	wanted := map[int64]map[string]string{} // by limit, which mostly is the same
	for i := range w.Nodes {
		one := &w.Nodes[i]
		was, sent := o.settingsReplies[one.RunID]
		if sent && one.Answer == wire.Reached {
			running[one.RunID] = was
		}
		if wanted[one.MemoryLimit] == nil {
			wanted[one.MemoryLimit] = spec.ImmediateDirectives(one.MemoryLimit)
		}
		one.SettingsUnknown, one.RefusedSettings = !maps.Equal(was.applied, wanted[one.MemoryLimit]), map[string]string{}
		if !one.SettingsUnknown {
			maps.Copy(one.RefusedSettings, was.refused)
		}
		if was.persistRefusal != "" && one.AOF != spec.UsesAppendOnly() {
			one.RefusedSettings[config.AppendOnly] = was.persistRefusal
		}
		one.SnapshotTaken = was.snapshotAsked && !one.Saving && one.SavedAt > was.snapshotBefore
	}
	o.settingsReplies = running
}

// noteApplied notes which directives a process was sent, and which of them it refused.
func (o *objectMemory) noteApplied(runID string, applied, refused map[string]string) {
	reply := o.settingsReplies[runID]
	reply.applied, reply.refused = applied, refused
	o.settingsReplies[runID] = reply
}

// notePersistRefusal notes why a process refused to persist in another way, "" if it did not.
func (o *objectMemory) notePersistRefusal(runID, refusal string) {
	reply := o.settingsReplies[runID]
	reply.persistRefusal = refusal
	o.settingsReplies[runID] = reply
}

// noteSnapshotAsked notes that a process was asked for a snapshot, and when the one before was taken.
func (o *objectMemory) noteSnapshotAsked(runID string, before int64) {
	reply := o.settingsReplies[runID]
	reply.snapshotAsked, reply.snapshotBefore = true, before
	o.settingsReplies[runID] = reply
}
