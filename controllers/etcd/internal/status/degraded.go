package status

import (
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
)

// problemsByUrgency are all that Degraded can report, each with its own reason; it reports the first that is present. An error of the
// pass precedes them. The order has reasons:
//
//   - a decision that only a human can make comes first: until then no member is changed;
//   - a Secret that is of no use comes next: clients are let in only until what was read from it before expires;
//   - a size of the volumes that cannot be had was just asked for by a human, who looks for the answer here, and so was a quota for which
//     the node's disk has no room;
//   - a pod may fail because of any problem above;
//   - the quota is reported once nothing else is wrong: the operator itself makes what room it can.
func (i Inputs) problemsByUrgency(w conditions.Workload) []*conditions.Problem {
	return []*conditions.Problem{
		i.blocked(),
		i.passwordUnusable(),
		i.certificateUnusable(),
		i.shrinking(),
		i.withoutRoom(),
		i.Growth.Refused(),
		w.PodFailing(i.Cluster.Status.Conditions),
		i.quotaExceeded(),
		i.quotaNearlyReached(),
	}
}

// blocked is what a human must decide, and what keeps a pod from starting, which may be the cause.
func (i Inputs) blocked() *conditions.Problem {
	if i.Next.Do != membership.Block {
		return nil
	}
	p := &conditions.Problem{Reason: i.Next.Reason, Message: i.Next.Message}
	if failure := i.failure(); failure != "" {
		p.Message += "; " + failure
	}
	return p
}

// shrinking is the problem that the spec asks for smaller volumes than there are.
func (i Inputs) shrinking() *conditions.Problem {
	if i.Cluster.Spec.Storage == nil {
		return nil
	}
	return volumes.Shrinking(i.Cluster.Spec.Storage.Size, i.Set)
}

// withoutRoom is the problem that the kubelet would evict all members before they reach their quota.
func (i Inputs) withoutRoom() *conditions.Problem {
	why := i.Situation.WithoutRoom()
	if i.Situation.QuotaError != "" {
		why = i.Situation.QuotaError
	}
	if why == "" {
		return nil
	}
	return &conditions.Problem{Reason: commonv1.ReasonInvalidSpec, Message: why}
}
