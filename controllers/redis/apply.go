package redis

import (
	"context"
	"errors"

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
		p.settleClaims(ctx), p.growVolumes(ctx))
	var checkErr error
	p.recheckPods, checkErr = p.CheckPods(ctx, p.Redis, p.Set, p.Pods, p.clock.Now())
	return errors.Join(err, checkErr)
}
