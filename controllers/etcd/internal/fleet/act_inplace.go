package fleet

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// maxStarted bounds how many EtcdRestores are remembered.
const maxStarted = 32

// doStartRestore records that a backup replaces all data. Nothing has been stopped yet; from here on no former member counts.
func (f *Fleet) doStartRestore(ctx context.Context, s membership.Step) error {
	if err := f.Effects.ConfirmRequest(ctx, s.Source); err != nil {
		return err
	}
	before, restore := f.Cluster.Status.Membership, s.Restore.DeepCopy()
	record := &databasev1alpha1.EtcdMembership{
		Token: f.Effects.NewID(), Revision: before.Revision, InitialVersion: f.Cluster.Status.TargetVersion, Restore: restore,
		FormerDataIDs: before.FormerDataIDs, KeptDataIDs: before.KeptDataIDs, NamesAllData: before.NamesAllData,
		Members: []databasev1alpha1.EtcdRecordedMember{{Name: f.Spec.MemberName(0), DataID: f.Effects.NewID()}},
	}
	if superseded := before.Restore; superseded != nil { // whose first member may have run, and no one has seen it
		restore.KeptDataIDs = remember(record, restore.KeptDataIDs, superseded.KeptDataIDs)
	}
	for _, member := range before.Members {
		restore.KeptDataIDs = remember(record, restore.KeptDataIDs, []string{member.DataID})
	}
	f.Cluster.Status.Membership = record
	f.Cluster.Status.CompactedRevision = 0 // of other data
	f.forgetAccess()
	f.Cluster.Status.BegunRestoreUIDs = append(f.Cluster.Status.BegunRestoreUIDs, s.Source)
	f.Cluster.Status.BegunRestoreUIDs = f.Cluster.Status.BegunRestoreUIDs[max(0, len(f.Cluster.Status.BegunRestoreUIDs)-maxStarted):]
	return f.save(ctx)
}

// fetchOfSource is the pod that has the backup of that source.
func (f *Fleet) fetchOfSource(source types.UID) membership.Fetch {
	if f.Next.UID != "" && f.Next.For == source {
		return f.Next
	}
	return f.Fetch
}
