package redis

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

// restore carries out a step of the loading of a backup.
func (r *Reconciler) restore(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, s topology.Step) error {
	switch s.Do {
	case topology.CreateRestorePod:
		return doCreateRestorePod(ctx, redis, f)
	case topology.LoadBackup:
		return r.doLoadBackup(ctx, redis, f, s.NodeNames[0])
	default:
		return doDeleteRestorePod(ctx, redis, f)
	}
}

// doCreateRestorePod saves that a backup is to be loaded, then makes the pod that fetches it.
func doCreateRestorePod(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet) error {
	if redis.Status.Restore == nil {
		redis.Status.Restore = &cachev1alpha1.RedisRestore{}
	}
	redis.Status.Restore.Phase = cachev1alpha1.RedisRestoreFetching
	if err := f.save(ctx); err != nil {
		return err
	}
	return f.createSource(ctx)
}

// doLoadBackup saves which process loads the backup, then has it copy all from the pod that serves it. A look right before that
// sees that it has nothing to lose.
func (r *Reconciler) doLoadBackup(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, name string) error {
	source, loader := f.sourceServer, f.servers[name]
	m, _ := f.Find(name)
	served, err := ensurePinned(ctx, source, f.Source.Name)
	if err != nil {
		return err
	}
	restore := redis.Status.Restore.DeepCopy()
	if restore == nil { // the status was put back since the pod was made
		restore = &cachev1alpha1.RedisRestore{}
	}
	process := m.Process()
	restore.Phase, restore.Item, restore.Loader, restore.ReplID = cachev1alpha1.RedisRestoreLoading, f.Source.Item, &process, served.ReplID
	redis.Status.Restore = restore
	if err := f.save(ctx); err != nil {
		return err
	}
	if f.Source.Warning != "" {
		r.Events.Eventf(redis, nil, corev1.EventTypeWarning, commonv1.ReasonBackupSourceUnknown, "Restore", "%s", f.Source.Warning)
	}
	login := f.credentials.LoginOf(process, served.RunID)
	if err := source.Admit(ctx, config.LoginUsers(), []wire.Login{login}); err != nil {
		return err
	}
	if now := loader.Look(ctx); now.RunID != m.RunID || now.Master || now.Keys > 0 {
		return fmt.Errorf("%s is another process than the one on record, or has data by now; it is looked at again", name)
	}
	if err := loader.Follow(ctx, f.Source.Address, login); err != nil {
		return err
	}
	r.memory.noteCommand(redis, m.RunID, setLoginSent(r.clock.Now()))
	return nil
}

// doDeleteRestorePod deletes the pod that serves the backup. One that failed is counted, once.
func doDeleteRestorePod(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet) error {
	restore := redis.Status.Restore
	if restore != nil && f.Source.Failure != "" && restore.FailedPodUID != f.Source.PodUID {
		restore.Failures, restore.FailedPodUID = restore.Failures+1, f.Source.PodUID
		if err := f.save(ctx); err != nil {
			return err
		}
	}
	return f.deleteSource(ctx)
}
