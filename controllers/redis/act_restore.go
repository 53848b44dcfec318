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

// doCreateRestorePod saves that a backup is to be loaded, then makes the pod that fetches it.
func (p *pass) doCreateRestorePod(ctx context.Context, _ topology.Step) error {
	if p.redis.Status.Restore == nil {
		p.redis.Status.Restore = &cachev1alpha1.RedisRestore{}
	}
	p.redis.Status.Restore.Phase = cachev1alpha1.RedisRestoreFetching
	if err := p.save(ctx); err != nil {
		return err
	}
	return p.createSource(ctx)
}

// doLoadBackup saves which process loads the backup, then has it copy all from the pod that serves it. A look right before that
// sees that it has nothing to lose.
func (p *pass) doLoadBackup(ctx context.Context, s topology.Step) error {
	name := s.NodeNames[0]
	source, loader := p.sourceServer, p.servers[name]
	m, _ := p.Find(name)
	served, err := ensurePinned(ctx, source, p.Source.Name)
	if err != nil {
		return err
	}
	restore := p.redis.Status.Restore.DeepCopy()
	if restore == nil { // the status was put back since the pod was made
		restore = &cachev1alpha1.RedisRestore{}
	}
	process := m.Process()
	restore.Phase, restore.Item, restore.Loader, restore.ReplID = cachev1alpha1.RedisRestoreLoading, p.Source.Item, &process, served.ReplID
	p.redis.Status.Restore = restore
	if err := p.save(ctx); err != nil {
		return err
	}
	if p.Source.Warning != "" {
		p.Events.Eventf(p.redis, nil, corev1.EventTypeWarning, commonv1.ReasonBackupSourceUnknown, "Restore", "%s", p.Source.Warning)
	}
	login := p.credentials.LoginOf(process, served.RunID)
	if err := source.Admit(ctx, config.LoginUsers(), []wire.Login{login}); err != nil {
		return err
	}
	if now := loader.Look(ctx); now.RunID != m.RunID || now.Master || now.Keys > 0 {
		return fmt.Errorf("%s is not the recorded process, or has data by now; it is looked at again", name)
	}
	if err := loader.Follow(ctx, p.Source.Address, login); err != nil {
		return err
	}
	p.known.noteLoginSent(m.RunID, p.clock.Now())
	return nil
}

// doDeleteRestorePod deletes the pod that serves the backup. One that failed is counted, once.
func (p *pass) doDeleteRestorePod(ctx context.Context, _ topology.Step) error {
	restore := p.redis.Status.Restore
	if restore != nil && p.Source.Failure != "" && restore.FailedPodUID != p.Source.PodUID {
		restore.Failures, restore.FailedPodUID = restore.Failures+1, p.Source.PodUID
		if err := p.save(ctx); err != nil {
			return err
		}
	}
	return p.deleteSource(ctx)
}
