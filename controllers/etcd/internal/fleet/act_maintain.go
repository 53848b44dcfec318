package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
)

// doDefragment has a member write its data again. It notes when, also if it failed: the next try writes as much. A member that was busy
// was not asked.
func (f *Fleet) doDefragment(ctx context.Context, s membership.Step) error {
	err := f.servers[s.Member].Defragment(ctx)
	if errors.Is(err, wire.ErrBusy) {
		return err
	}
	f.Memory.noteDefragmented(s.Member, f.Clock.Now())
	if err != nil { // its volume may have less room than its size says
		return fmt.Errorf("%w%s", err, f.Situation().ExplainKeptData())
	}
	return nil
}

// doCompact drops old revisions, and saves that. It notes when, also if it failed.
func (f *Fleet) doCompact(ctx context.Context, s membership.Step) error {
	defer func(now time.Time) { f.Memory.compacted = now }(f.Clock.Now())
	m, _ := f.Find(s.Member)
	if err := f.servers[s.Member].Compact(ctx, m.View.Revision); err != nil {
		return err
	}
	f.Cluster.Status.CompactedRevision = m.View.Revision
	return f.save(ctx)
}

func (f *Fleet) doWriteEntries(ctx context.Context, _ membership.Step) error {
	server, err := f.anyVoter()
	if err != nil {
		return err
	}
	return server.WriteEntries(ctx, membership.SnapshotCount)
}

func (f *Fleet) doDisarm(ctx context.Context, s membership.Step) error {
	server, err := f.anyVoter()
	if err != nil {
		return err
	}
	if err := server.Disarm(ctx, s.Alarm); err != nil || s.Alarm.Type != membership.AlarmNoSpace || f.count(membership.AlarmNoSpace) > 1 {
		return err
	}
	f.Cluster.Status.CompactedRevision = 0 // the next alarm starts with a compaction
	return f.save(ctx)
}

// count is how many members have raised that alarm.
func (f *Fleet) count(kind string) int {
	count := 0
	for _, a := range f.Alarms {
		if a.Type == kind {
			count++
		}
	}
	return count
}
