package redis

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/command"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/children"
)

// apply writes the children and what else follows from the step. The children come after the act: the Service follows the
// recorded master. While the object is paused, they are only read.
func (p *pass) apply(ctx context.Context) (err error) {
	if p.Redis.Spec.Paused {
		p.observed, err = p.ReadChildren(ctx, p.Redis, children.Desired(p.childInputs())...)
		return err
	}
	p.PublishPassword()
	rotated := p.RotatePasswords()
	p.TakeAcceptedSettings()
	p.known.Settings = p.Settings
	led, err := p.applyChildren(ctx)
	if led {
		err = errors.Join(err, p.reportMasterChange(ctx))
	}
	if err != nil {
		return err
	}
	if retired := p.StartPasswordOverlap(); retired || rotated || p.step.Traits().Changes {
		p.isOutdated = true
		return nil
	}
	err = errors.Join(p.writePodRoles(ctx, p.Situation().OutdatedPodRoles(p.Pods)), p.WriteStamps(ctx, p.Situation().VolumesInSync()),
		p.settleClaims(ctx), p.growVolumes(ctx), p.restartFailing(ctx))
	var checkErr error
	p.recheckPods, checkErr = p.CheckPods(ctx, p.Redis, p.Set, p.Pods, p.clock.Now())
	return errors.Join(err, checkErr)
}

// restartFailing deletes outdated pods that run no server, so that the next ones have the current template. An error holds up nothing
// else. A step that acts comes first: the end of a master's container is the proof that a failover needs.
func (p *pass) restartFailing(ctx context.Context) error {
	failing := p.Situation().FailingPods()
	if len(failing) == 0 || p.step.Traits().Acts {
		return nil
	}
	return command.AsLeader(ctx, p.IsLeader, func(ctx context.Context) error {
		if err := p.effects.CheckUnchanged(ctx); err != nil {
			return err
		}
		var errs []error
		for _, name := range failing {
			log.FromContext(ctx).Info("deleting a pod that is outdated and runs no server", "pod", name)
			if err := p.effects.DeletePod(ctx, name); err != nil {
				errs = append(errs, fmt.Errorf("replacing pod %q, which is outdated and runs no server: %w", name, err))
			}
		}
		return errors.Join(errs...)
	})
}
