package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// errNotBackedUp says that the cache was behind: the next minor version must wait for a backup.
var errNotBackedUp = errors.New("an upgrade backup must be complete first")

func (f *Fleet) doCreateUpgradeBackup(ctx context.Context, s membership.Step) error {
	return f.Effects.CreateUpgradeBackup(ctx, s.Backup, s.Like)
}

func (f *Fleet) doDeleteUpgradeBackup(ctx context.Context, s membership.Step) error {
	return f.Effects.DeleteUpgradeBackup(ctx, s.Backup)
}

// doSetVersion saves which version pods are made with. Before it leaves a minor version it asks the API server about backups: one by
// a schedule that was made just before the edit of the version must not be overlooked. Before it returns to one, it asks once
// more the member that proves that all can return.
func (f *Fleet) doSetVersion(ctx context.Context, s membership.Step) error {
	next, err := membership.ParseVersion(s.Version)
	if err != nil {
		return err
	}
	if live := f.Situation(); live.LeavesMinor(next) {
		if live.Backups, err = f.Effects.ReadBackups(ctx); err != nil {
			return err
		}
		if first, ok := live.AwaitBackup(next); ok {
			return fmt.Errorf("%w: %s", errNotBackedUp, first.Phrase())
		}
	}
	if now, err := membership.ParseVersion(f.Cluster.Status.TargetVersion); err == nil && next.Minor < now.Minor && !f.canReturnTo(ctx, next) {
		return errNoFormerMember
	}
	f.Cluster.Status.TargetVersion, f.Cluster.Status.TargetImage = s.Version, s.Image
	return f.save(ctx)
}
