package etcd

import (
	"context"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

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
	return server.Disarm(ctx, s.Alarm)
}
