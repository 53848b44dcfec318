package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/command"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/children"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// deletionRetry is the time between two requests to delete the same pod. A webhook that denies the first may allow a later one, and no
// event says so.
const deletionRetry = 30 * time.Second

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
	p.restartFailing(ctx) // also when a child is refused: the StatefulSet may have been written
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

// restartFailing deletes outdated pods that run no server, so that the next ones have the current template. A step that acts comes first.
// A deletion that fails, such as one that a webhook denies, holds up nothing else and is logged.
func (p *pass) restartFailing(ctx context.Context) {
	failing := slices.DeleteFunc(p.Situation().FailingPods(), p.wasDeleted)
	if len(failing) == 0 || p.step.Traits().Acts {
		return
	}
	err := command.AsLeader(ctx, p.IsLeader, func(ctx context.Context) error {
		if err := p.effects.CheckUnchanged(ctx); err != nil {
			return err
		}
		var errs []error
		for _, name := range failing {
			p.noteDeletion(name)
			log.FromContext(ctx).Info("deleting a pod that is outdated and runs no server", "pod", name)
			if err := p.effects.DeletePod(ctx, name); err != nil {
				errs = append(errs, fmt.Errorf("pod %q: %w", name, err))
			}
		}
		return errors.Join(errs...)
	})
	if err != nil {
		log.FromContext(ctx).Error(err, "outdated pods that run no server are not replaced; a later pass tries again", "pods", failing)
	}
}

// recheckFailing is when to look again at pods that are to be replaced; 0 if there are none.
func (p *pass) recheckFailing() time.Duration {
	if p.Redis.Spec.Paused || len(p.Situation().FailingPods()) == 0 {
		return 0
	}
	return deletionRetry
}

// wasDeleted reports whether the deletion of a node's pod was requested a moment ago: the cache may not show it yet, or it was denied.
func (p *pass) wasDeleted(node string) bool {
	m, _ := p.Find(node)
	at, deleted := p.known.deletedPods[m.PodUID]
	return deleted && p.clock.Since(at) < deletionRetry
}

// noteDeletion notes that the deletion of a node's pod is requested, and forgets the pods that are gone.
func (p *pass) noteDeletion(node string) {
	maps.DeleteFunc(p.known.deletedPods, func(pod types.UID, _ time.Time) bool {
		return !slices.ContainsFunc(p.Nodes, func(m topology.Node) bool { return m.PodUID == pod })
	})
	m, _ := p.Find(node)
	p.known.deletedPods[m.PodUID] = p.clock.Now()
}
