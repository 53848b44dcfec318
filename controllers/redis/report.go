package redis

import (
	"cmp"
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/children"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/status"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// report sets the status, unless another pass is due at once, and returns when the next one is due. err is what apply returned.
func (p *pass) report(ctx context.Context, err error) (ctrl.Result, error) {
	if p.isOutdated {
		return ctrl.Result{RequeueAfter: time.Millisecond}, err
	}
	result := p.updateStatus()
	result.RequeueAfter = converge.Soonest(result.RequeueAfter, p.recheckPods)
	if p.Redis.Spec.Paused {
		p.TakeAcceptedSettings() // as they will be
		err = errors.Join(err, p.ReportPausedChanges(ctx, p.Redis, children.Desired(p.childInputs())...))
	}
	return result, err
}

// updateStatus sets the status: what was seen, what was just written, and what comes next.
func (p *pass) updateStatus() ctrl.Result {
	redis, next := p.Redis, p.step
	set, found := converge.Find[*appsv1.StatefulSet](p.observed, "StatefulSet", redis.Name)
	if !found {
		set = &appsv1.StatefulSet{}
	}
	s := p.Situation()
	if s.IsUnconfirmed() && next.Do != topology.Block { // what the status says of the servers that were not asked still holds
		return ctrl.Result{RequeueAfter: cmp.Or(next.RequeueAfter, time.Second)}
	}
	redis.Status = status.New(redis, status.Inputs{Situation: s, Next: next, Set: set, Pods: p.Pods, Refusal: p.PodRefusal(redis),
		RunningImage: p.imageFor(set), DefaultImage: p.DefaultImages[s.Flavor], Certificates: p.Certificates, Credentials: p.Credentials})
	setMargin(s)
	requeues := []time.Duration{next.RequeueAfter, p.Credentials.RecheckAfter(p.clock.Now()), p.Certificates.RecheckAfter,
		max(0, topology.OldClientTime-p.SinceRouted), children.RecheckClaims(redis, s), p.recheckFailing()}
	if p.GrowthRefusal != "" {
		requeues = append(requeues, volumes.RetryAfter)
	}
	return ctrl.Result{RequeueAfter: converge.Soonest(requeues...)}
}
