package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/children"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/fleet"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/command"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
)

// pass is one pass over one EtcdCluster. Its steps are read, look, plan, act, apply and report, in this order.
type pass struct {
	*object
	// effects are those of the step besides those on the servers. read fills them in.
	effects *apiEffects
	// fleet has the members as servers. look fills it in.
	fleet *fleet.Fleet
	// step is what is to be done. plan fills it in; act replaces it when the step must wait or is blocked.
	step membership.Step
	// readsOnly says that the pass neither acts nor writes children. plan fills it in, and act once more: if the volumes could not be reused,
	// the object still has no record.
	readsOnly bool
	// failed is the error of a step that a server refused. act fills it in. The children and the status follow all the same.
	failed error
	// children are those that the object is to have. apply fills them in.
	children []converge.Child
	// set is the StatefulSet as it was just written, empty if there is none. apply fills it in.
	set *appsv1.StatefulSet
	// growth is how far the volumes are. apply fills it in.
	growth volumes.Growth
	// recheckPods is when to look again at pods that do not start; 0 for never. apply fills it in.
	recheckPods time.Duration
}

// recheck is when to read again after an error, which time alone may end.
func (p *pass) recheck() ctrl.Result {
	return ctrl.Result{RequeueAfter: p.in.certificates.RecheckAfter}
}

// look joins what was read with what the servers say. It opens connections to them, which Close of the fleet ends.
func (p *pass) look(ctx context.Context) {
	p.fleet = &fleet.Fleet{Cluster: p.cluster, Spec: p.spec, World: p.observe(ctx),
		Effects: p.effects, Memory: &p.known.members, Clock: p.clock,
		Certificates: p.in.certificates, Logins: p.in.logins}
	p.fleet.Open(ctx, p.in.pods)
	p.fleet.Look(ctx)
}

// plan decides what to do from what was read and seen. What is lost must be restored before anything is written.
func (p *pass) plan() {
	p.step = p.fleet.Situation().Plan()
	p.readsOnly = p.in.lost != nil || p.changesNothing()
	if p.in.lost != nil {
		p.step = *p.in.lost
	}
}

// act performs the step. It returns an error if nothing may follow: the status could not be saved, the object has changed since, or
// another operator may lead.
func (p *pass) act(ctx context.Context) error {
	if p.readsOnly {
		return nil
	}
	namedAll := p.namesAllData()
	err := command.AsLeader(ctx, p.IsLeader, func(acting context.Context) error {
		// These stamps may take longer than an act. If they were cut off with it, each pass would write them again, and no pass would act.
		if err := p.fleet.StampAhead(ctx); err != nil {
			return err
		}
		return p.fleet.Act(acting, p.step)
	})
	if p.effects.unconfirmed || errors.Is(err, command.ErrNotLeading) {
		return fmt.Errorf("%s: %w", p.step.Phrase(), err)
	}
	p.warnOfUncheckedData(namedAll)
	p.step, p.failed = fleet.Outcome(p.step, err)
	p.readsOnly = p.changesNothing()
	return nil
}

// apply writes the children and what else follows from the step, also when a server has refused the step.
func (p *pass) apply(ctx context.Context) error {
	write := p.Converge
	if p.readsOnly {
		write = p.ReadChildren
	}
	toMake := p.childInputs()
	p.children = children.Desired(toMake)
	if p.fetchesOnly() {
		p.children, write = children.NeededToFetch(toMake), p.ApplyChildren // nothing is removed
	}
	observed, err := write(ctx, p.cluster, p.children...)
	p.notePublished(observed, toMake.Identity)
	err = errors.Join(p.failed, err)
	if !p.cluster.Spec.Paused {
		p.reportPeers(ctx, observed)
		err = errors.Join(err, p.fleet.WritePermits(ctx))
	}
	found, _ := converge.Find[*appsv1.StatefulSet](observed, "StatefulSet", p.cluster.Name)
	p.set = cmp.Or(found, &appsv1.StatefulSet{})
	err = errors.Join(err, p.settleClaims(ctx, p.fleet.Situation(), cmp.Or(found, p.in.set)))
	var growthErr, checkErr error
	p.growth, growthErr = p.growVolumes(ctx, p.fleet.Situation().MayOrphanPods(p.step))
	if !p.cluster.Spec.Paused {
		p.recheckPods, checkErr = p.CheckPods(ctx, p.cluster, p.set, p.in.pods, p.clock.Now())
	}
	return errors.Join(err, growthErr, checkErr)
}

// childInputs are what the children are made from.
func (p *pass) childInputs() children.Inputs {
	template := &p.in.set.Spec.Template
	version, _ := membership.ParseVersion(p.cluster.Status.TargetVersion) // it is set when there is a record; without one there are no pods
	in := children.Inputs{Cluster: p.cluster, Spec: p.spec, Image: p.cluster.Status.TargetImage, Version: version,
		LauncherImage: parts.RunningImage(template.Spec.InitContainers, "launcher", p.LauncherImage),
		Pods:          p.fleet.Situation().DesiredPods(),
		Peers:         p.in.peers, Identity: p.fleet.NextPublished(),
		Logins:      p.fleet.NextLogins(),
		RestartedAt: template.Annotations[parts.AnnotationRestartedAt], OperatorNamespace: p.Account.Namespace}
	if record := p.cluster.Status.Membership; record != nil {
		in.InitialVersion = record.InitialVersion
	}
	in = children.KeepRoom(in, p.in.set)
	in.Defaults = children.ChooseDefaults(in, converge.StatefulSetWorkload(p.in.set, p.in.pods, p.PodRefusal(p.cluster)))
	return in
}

// changesNothing reports whether the pass only reads: the object is paused, or it has no cluster, forms none and reuses no volumes.
func (p *pass) changesNothing() bool {
	starts := p.step.Do == membership.Form || p.step.Do == membership.ReuseVolumes && p.failed == nil || p.step.Fetches
	return p.cluster.Spec.Paused || p.cluster.Status.Membership == nil && !starts
}

// fetchesOnly reports whether nothing is to be there but what the pod of a backup needs: by what the pass has read there is no member
// yet. It saves nothing, so it may have read what is older than another's write.
func (p *pass) fetchesOnly() bool {
	return p.cluster.Status.Membership == nil && p.step.Fetches && !p.cluster.Spec.Paused
}
