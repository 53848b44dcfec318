package fleet

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

func (f *Fleet) doCreateFetchPod(ctx context.Context, s membership.Step) error {
	return f.Effects.CreateFetchPod(ctx, f.Situation(), s.Source)
}

func (f *Fleet) doDeleteFetchPod(ctx context.Context, s membership.Step) error {
	return f.Effects.DeleteFetchPod(ctx, f.fetchOfSource(s.Source).UID)
}

// doEndRestore ends the restore, and reports a backup of which nothing shows whose data it is.
func (f *Fleet) doEndRestore(ctx context.Context, _ membership.Step) error {
	if err := f.endRestore(ctx); err != nil || f.Fetch.Warning == "" {
		return err
	}
	f.Effects.WarnOfSource(f.Fetch.Warning)
	return nil
}

// endRestore deletes the pod of the backup, and saves that the first member has started with it. Killed between the two, it does
// both again.
func (f *Fleet) endRestore(ctx context.Context) error {
	for _, left := range append([]membership.Fetch{f.Fetch}, f.Strays...) {
		if err := f.Effects.DeleteFetchPod(ctx, left.UID); err != nil {
			return err
		}
	}
	record := f.Cluster.Status.Membership
	if record.Restore == nil {
		return nil
	}
	f.Cluster.Status.LastRestore = &databasev1alpha1.EtcdLastRestore{Time: metav1.NewTime(f.Clock.Now()),
		EtcdRestoredBackup: record.Restore.EtcdRestoredBackup,
		RestoreUID:         record.Restore.RestoreUID, RevisionBump: record.Restore.RevisionBump}
	noteFormer(record, record.Restore.KeptDataIDs...)
	record.Restore = nil
	return f.save(ctx)
}
