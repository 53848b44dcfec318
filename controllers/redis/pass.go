package redis

import (
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/children"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// pass is one pass over one Redis. Its steps are read, look, plan, act, apply and report, in this order.
type pass struct {
	*Reconciler
	// redis is the object. Its status changes while the pass acts.
	redis *cachev1alpha1.Redis
	// known is what earlier passes over the object have left.
	known *objectMemory

	// recheck is when to read again after read has failed; 0 if only a change helps. A certificate that is not valid yet becomes
	// valid with time.
	recheck time.Duration
	// set is the StatefulSet, empty if there is none. read fills it in.
	set *appsv1.StatefulSet
	// pods are the nodes' pods. read fills them in.
	pods []corev1.Pod
	// acceptedSettings are those that the servers accepted before this pass. read fills them in.
	acceptedSettings config.Settings

	// fleet has the resolved spec from the start, and what read and look find out about the servers.
	*fleet

	// step is what is to be done. plan fills it in; act changes it when the servers have changed.
	step topology.Step

	// observed are the children as the API server has them. apply fills them in.
	observed converge.Observed
	// recheckPods is when to look again at pods that do not start; 0 for never. apply fills it in.
	recheckPods time.Duration
	// isOutdated says that the pass has changed what it saw, so that another is due at once. apply fills it in.
	isOutdated bool
}

// newPass returns a pass that has read nothing yet.
func (r *Reconciler) newPass(redis *cachev1alpha1.Redis, save converge.SaveStatus) *pass {
	p := &pass{Reconciler: r, redis: redis, known: r.memory.Of(redis),
		fleet: &fleet{spec: config.Resolve(redis), servers: map[string]server{}}}
	p.effects = &apiEffects{p, save}
	return p
}

// situation is what the next decision is made from.
func (p *pass) situation() topology.Situation {
	return topology.Situation{Spec: p.spec, Status: &p.redis.Status, World: p.World}
}

// plan decides what to do from what was read and seen.
func (p *pass) plan() { p.step = p.situation().Plan() }

// apply writes the children and what else follows from the step. The children come after the act: the Service follows the
// recorded master. While the object is paused, they are only read.
func (p *pass) apply(ctx context.Context) (err error) {
	if p.redis.Spec.Paused {
		p.observed, err = p.ReadChildren(ctx, p.redis, children.Desired(p.childInputs())...)
		return err
	}
	p.publishPassword()
	rotated := p.rotatePasswords()
	p.takeAcceptedSettings()
	p.known.settings = p.Settings
	led, err := p.route(ctx)
	if led {
		err = errors.Join(err, p.reportMasterChange(ctx))
	}
	if err != nil {
		return err
	}
	if retired := p.startPasswordOverlap(); retired || rotated || p.step.Traits().Changes {
		p.isOutdated = true
		return nil
	}
	err = errors.Join(p.writePodRoles(ctx, p.situation().OutdatedPodRoles(p.pods)), p.writeStamps(ctx, p.situation().VolumesInSync()),
		p.settleClaims(ctx), p.growVolumes(ctx))
	var checkErr error
	p.recheckPods, checkErr = p.CheckPods(ctx, p.redis, p.set, p.pods, p.clock.Now())
	return errors.Join(err, checkErr)
}

// childInputs are what the children are made from.
func (p *pass) childInputs() children.Inputs {
	in := children.Inputs{Redis: p.redis, Spec: p.spec, Credentials: p.credentials, Settings: p.Settings, Image: p.imageFor(p.set),
		Replicas: p.situation().DesiredPods(), Identity: p.publishIdentity(),
		RestartedAt:       p.set.Spec.Template.Annotations[parts.AnnotationRestartedAt],
		OperatorNamespace: p.Account.Namespace}
	if p.spec.Storage != nil {
		in.VolumeSize = volumes.SizeOfNew(p.set, p.spec.Storage.Size)
	}
	in.Defaults = children.ChooseDefaults(in, converge.StatefulSetWorkload(p.set, p.pods, p.PodRefusal(p.redis)))
	return in
}

// imageFor returns the spec's image, else the one that runs in this StatefulSet, else the operator's default.
func (p *pass) imageFor(set *appsv1.StatefulSet) string {
	if p.redis.Spec.Image != "" {
		return p.redis.Spec.Image
	}
	return parts.RunningImage(set.Spec.Template.Spec.Containers, config.AppName, p.DefaultImages[p.spec.Flavor])
}

func (p *pass) microNow() *metav1.MicroTime { return ptr.To(metav1.NewMicroTime(p.clock.Now())) }
