package status

import (
	"cmp"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// problemsByUrgency are all that Degraded can report, each with its own reason; it reports the first that is present. An error of the
// pass precedes them. The order has reasons:
//
//   - a decision that only a human can make comes first: until then nothing is promoted;
//   - passwords and certificates come next: without them the operator cannot command the servers;
//   - a size of the volumes that cannot be had was just asked for by a human, who looks for the answer here;
//   - a Redis continues without a server that cannot be read, and switches over from one that cannot write;
//   - a refused setting breaks nothing, and a pod may fail because of any problem above.
func (i Inputs) problemsByUrgency(w conditions.Workload, before []metav1.Condition) []*conditions.Problem {
	return []*conditions.Problem{
		blocked(i.Next),
		lockedOut(i.Situation),
		passwordUnusable(i.Situation, i.Credentials),
		passwordRefused(i.Situation),
		certificateUnusable(i.Situation, i.Certificates),
		i.VolumeGrowth().Refused(),
		i.shrinking(),
		unreadable(i.World),
		diskFull(i.World),
		settingRefused(i.Situation),
		w.PodFailing(before),
	}
}

// blocked is what a human must decide.
func blocked(next topology.Step) *conditions.Problem {
	if next.Do != topology.Block {
		return nil
	}
	return &conditions.Problem{Reason: cmp.Or(next.Reason, commonv1.ReasonPromotionBlocked), Message: next.Message}
}

// shrinking is the problem that the spec asks for smaller volumes than there are.
func (i Inputs) shrinking() *conditions.Problem {
	if i.Storage == nil {
		return nil
	}
	return volumes.Shrinking(i.Storage.Size, i.Set)
}

// unreadable names the nodes whose answers cannot be parsed. They count as silent.
func unreadable(w topology.World) *conditions.Problem {
	var answers []string
	for _, m := range w.Nodes {
		if m.Unreadable != "" {
			answers = append(answers, m.Name+": "+m.Unreadable)
		}
	}
	if len(answers) == 0 {
		return nil
	}
	return &conditions.Problem{Reason: commonv1.ReasonUnreadableReply, Message: fmt.Sprintf(
		"what answers at these nodes does not answer as a Redis or Valkey server does, and counts as silent (%s): check spec.image",
		strings.Join(answers, "; "))}
}

// diskFull names the nodes that cannot write down what they have. Such a master is switched over to a node that can.
func diskFull(w topology.World) *conditions.Problem {
	full := topology.NamesOf(w.Where(func(m topology.Node) bool { return m.Misconf }))
	if len(full) == 0 {
		return nil
	}
	return &conditions.Problem{Reason: commonv1.ReasonDiskError, Message: fmt.Sprintf(
		"%s cannot write to disk and refuses writes: free space on its volume, or let storage.size grow; its log has the cause",
		strings.Join(full, ", "))}
}
