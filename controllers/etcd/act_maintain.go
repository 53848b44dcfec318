package etcd

import (
	"context"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// maintain does a step of maintenance, and notes when old revisions were dropped.
func (r *Reconciler) maintain(ctx context.Context, e *databasev1alpha1.EtcdCluster, f *fleet, s membership.Step) error {
	if s.Do == membership.Compact {
		defer r.memory.noteCompaction(e, r.clock.Now())
	}
	return f.maintain(ctx, e, s)
}

// maintain gives space back, takes alarms back, and has old entries of the logs dropped.
func (f *fleet) maintain(ctx context.Context, e *databasev1alpha1.EtcdCluster, s membership.Step) error {
	switch s.Do {
	case membership.Defragment:
		return f.servers[s.Member].Defragment(ctx)
	case membership.Compact:
		m, _ := f.Find(s.Member)
		if err := f.servers[s.Member].Compact(ctx, m.View.Revision); err != nil {
			return err
		}
		e.Status.CompactedRevision = m.View.Revision
		return f.save(ctx)
	}
	server, err := f.anyVoter()
	if err != nil {
		return err
	}
	if s.Do == membership.WriteEntries {
		return server.WriteEntries(ctx, membership.SnapshotCount)
	}
	if err := server.Disarm(ctx, s.Alarm); err != nil || s.Alarm.Type != membership.AlarmNoSpace || f.count(membership.AlarmNoSpace) > 1 {
		return err
	}
	e.Status.CompactedRevision = 0 // the next alarm begins with a compaction
	return f.save(ctx)
}

// count is how many members have raised that alarm.
func (f *fleet) count(kind string) int {
	count := 0
	for _, a := range f.Alarms {
		if a.Type == kind {
			count++
		}
	}
	return count
}
