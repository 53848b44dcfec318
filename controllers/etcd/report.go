package etcd

import (
	"cmp"
	"context"
	"errors"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// report sets the status and returns when the next pass is due. err is what apply returned.
func (p *pass) report(ctx context.Context, err error) (ctrl.Result, error) {
	certificates := clientCertificates{p.in.certificates, p.fleet.lagging(p.cluster, p.in.certificates.Published)}
	result := p.updateStatus(p.cluster, p.fleet, p.step,
		workload{p.set, p.in.allPods(), p.growth, certificates, p.in.logins, p.PodRefusal(p.cluster)})
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
func (r *Reconciler) updateStatus(e *databasev1alpha1.EtcdCluster, f *fleet, next membership.Step, w workload) ctrl.Result {
	now := r.clock.Now()
	known := r.memory.noteLook(e, f.World, now)
	r.memory.noteAccess(e, f.World, now)
	s := f.situation(e)
	restore, _ := s.NextRestore()
	waited, restoreWaited := r.memory.noteWaits(e, next, restore, now)
	if !known.isFleeting(f.World, now) {
		e.Status = newStatus(e, s, explained(known.excuse(next, now), s.Sees(), waited), w)
		e.Status.NextRestore = nextRestore(s, restore, restoreWaited, w)
	}
	return ctrl.Result{RequeueAfter: converge.Soonest(cmp.Or(next.RequeueAfter, restInterval), w.certificates.RecheckAfter,
		w.logins.RecheckAfter(f.situation(e).Login(), now))}
}
