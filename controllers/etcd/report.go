package etcd

import (
	"cmp"
	"context"
	"errors"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/status"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// restInterval is the time between two looks at a cluster at rest. A pod's end wakes the operator sooner; an alarm does not.
const restInterval = 15 * time.Second

// report sets the status and returns when the next pass is due. err is what apply returned.
func (p *pass) report(ctx context.Context, err error) (ctrl.Result, error) {
	result := p.updateStatus()
	result.RequeueAfter = converge.Soonest(result.RequeueAfter, p.recheckPods)
	if p.cluster.Spec.Paused { // after all else is reported
		err = errors.Join(err, p.ReportPausedChanges(ctx, p.cluster, p.children...))
	}
	if err == nil && p.step.Changes() && !p.cluster.Spec.Paused {
		return ctrl.Result{RequeueAfter: time.Millisecond}, nil // and look at what came of it
	}
	return result, err
}

// updateStatus sets the status: what was seen, what was just written, and what comes next.
func (p *pass) updateStatus() ctrl.Result {
	now, s := p.clock.Now(), p.fleet.Situation()
	p.known.members.NoteAccess(p.fleet.World, now)
	p.cluster.Status = p.known.history.Report(p.statusInputs(), now)
	p.fleet.RecordLogs()
	return ctrl.Result{RequeueAfter: converge.Soonest(cmp.Or(p.step.RequeueAfter, restInterval), p.in.certificates.RecheckAfter,
		p.in.logins.RecheckAfter(s.Login(), now))}
}

// statusInputs are what the status is made from.
func (p *pass) statusInputs() status.Inputs {
	return status.Inputs{Cluster: p.cluster, Situation: p.fleet.Situation(), Next: p.step, Set: p.set, Pods: p.in.allPods(),
		Refusal: p.PodRefusal(p.cluster), Growth: p.growth, Certificates: p.in.certificates,
		Lagging: p.fleet.Lagging(), Logins: p.in.logins}
}
