package fleet

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// doCreateRestorePod saves that a backup is to be loaded, then makes the pod that fetches it.
func (f *Fleet) doCreateRestorePod(ctx context.Context, _ topology.Step) error {
	if f.Redis.Status.Restore == nil {
		f.Redis.Status.Restore = &cachev1alpha1.RedisRestore{}
	}
	f.Redis.Status.Restore.Phase = cachev1alpha1.RedisRestoreFetching
	if err := f.effects.Save(ctx); err != nil {
		return err
	}
	return f.effects.CreateSource(ctx)
}

// doLoadBackup saves which process loads the backup, then has it copy all from the pod that serves it. A look right before that
// sees that it has nothing to lose.
func (f *Fleet) doLoadBackup(ctx context.Context, s topology.Step) error {
	name := s.NodeNames[0]
	source, loader := f.sourceServer, f.servers[name]
	m, _ := f.Find(name)
	served, err := ensurePinned(ctx, source, f.Source.Name)
	if err != nil {
		return err
	}
	restore := f.Redis.Status.Restore.DeepCopy()
	if restore == nil { // the status was put back since the pod was made
		restore = &cachev1alpha1.RedisRestore{}
	}
	process := m.Process()
	restore.Phase, restore.Item, restore.Loader, restore.ReplID = cachev1alpha1.RedisRestoreLoading, f.Source.Item, &process, served.ReplID
	f.Redis.Status.Restore = restore
	if err := f.effects.Save(ctx); err != nil {
		return err
	}
	f.reportSource()
	login := f.Credentials.LoginOf(process, served.RunID)
	if err := source.Admit(ctx, config.LoginUsers(), []wire.Login{login}, false); err != nil {
		return err
	}
	if now := loader.Look(ctx); now.RunID != m.RunID || now.Master || now.Keys > 0 {
		return fmt.Errorf("%s is not the recorded process, or has data by now; it is looked at again", name)
	}
	if err := loader.Follow(ctx, f.Source.Address, login); err != nil {
		return err
	}
	f.memory.noteLoginSent(m.RunID, f.operator.Clock.Now())
	return nil
}

// reportSource reports what a human should know of the backup that is loaded.
func (f *Fleet) reportSource() {
	events := f.operator.Events
	if f.Source.Warning != "" {
		events.Eventf(f.Redis, nil, corev1.EventTypeWarning, commonv1.ReasonBackupSourceUnknown, "Restore", "%s", f.Source.Warning)
	}
	if f.Source.Expiry != "" {
		events.Eventf(f.Redis, nil, corev1.EventTypeNormal, commonv1.ReasonKeysExpire, "Restore", "%s", f.Source.Expiry)
	}
}

// doDeleteRestorePod deletes the pod that serves the backup. One that failed is counted, once.
func (f *Fleet) doDeleteRestorePod(ctx context.Context, _ topology.Step) error {
	restore := f.Redis.Status.Restore
	if restore != nil && f.Source.Failure != "" && restore.FailedPodUID != f.Source.PodUID {
		restore.Failures, restore.FailedPodUID = restore.Failures+1, f.Source.PodUID
		if err := f.effects.Save(ctx); err != nil {
			return err
		}
	}
	return f.effects.DeleteSource(ctx)
}
