package topology

import (
	"fmt"
	"slices"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
)

// switchoverIfNeeded replaces a master that must go, while it still serves.
func (s Situation) switchoverIfNeeded(master Node) (Step, bool) {
	if s.Ghost == nil && master.Deleting && master.DeletingFor < RouteSettleTime {
		return Step{Do: Wait, Message: "the master's pod is going", RequeueAfter: RouteSettleTime - master.DeletingFor}, true
	}
	reason := s.urgentReason(master)
	if reason == "" && !s.isRouteSettling() {
		reason = s.plannedReason(master)
	}
	candidates := s.Where(func(m Node) bool { return s.canLead(m, master) })
	if reason == "" || len(candidates) == 0 {
		return Step{}, false // first somebody must be in sync
	}
	slices.SortStableFunc(candidates, func(a, b Node) int {
		if a.Outdated != b.Outdated {
			return boolToInt(a.Outdated) - boolToInt(b.Outdated)
		}
		return int(b.Offset - a.Offset)
	})
	return Step{Do: SwitchOver, NodeNames: []string{candidates[0].Name}, Reason: reason}, true
}

// urgentReason is why a master must be replaced without waiting for anything; empty if it need not be.
func (s Situation) urgentReason(master Node) string {
	switch {
	case s.Ghost != nil:
		return commonv1.ReasonMasterPodDeleted
	case master.Deleting:
		return commonv1.ReasonMasterTerminating
	case master.Misconf:
		return commonv1.ReasonDiskError
	}
	return ""
}

// plannedReason is why a master must be replaced that serves on until then; empty if it need not be.
func (s Situation) plannedReason(master Node) string {
	switch {
	case config.Ordinal(master.Name) >= s.Size:
		return commonv1.ReasonScaledDown
	case master.Outdated && !s.Supervised && len(s.unansweredNodes()) == 0 && s.allOthers(master, func(m Node) bool { return !m.Outdated }):
		return commonv1.ReasonMasterOutdated
	}
	return ""
}

// requestedSwitchover grants a human's request for another master once that node is in sync.
func (s Situation) requestedSwitchover(master Node) (Step, bool) {
	if s.SwitchoverTo == nil {
		return Step{}, false
	}
	name := *s.SwitchoverTo
	m, exists := s.Find(name)
	switch {
	case name == master.Name:
		return Step{Do: DismissRequest, NodeNames: []string{name}}, true
	case !exists || !s.isWanted(m):
		return Step{Do: DismissRequest, NodeNames: []string{name},
			Message: fmt.Sprintf("annotation %s: there is no pod %q to hand over to; name one of the pods in status.nodes",
				cachev1alpha1.RedisSwitchover, name)}, true
	}
	return Step{Do: SwitchOver, NodeNames: []string{name}, Reason: commonv1.ReasonSwitchoverRequested}, s.canLead(m, master) &&
		!s.isRouteSettling()
}

// isAskedFor reports whether a human asks for that node as the master.
func (s Situation) isAskedFor(m Node) bool { return s.SwitchoverTo != nil && m.Name == *s.SwitchoverTo }

// waitForRoute waits for the route to settle before a switchover that can wait, once all else is done: then
// clients need not wait.
func (s Situation) waitForRoute(master Node) (Step, bool) {
	return Step{Do: Wait, Message: "kube-proxy is taking in another change", RequeueAfter: 4 * ShortRequeue},
		s.isRouteSettling() && (s.SwitchoverTo != nil || s.plannedReason(master) != "")
}

// isRouteSettling reports whether kube-proxy may delay a change of the route because of one that came just before.
func (s Situation) isRouteSettling() bool {
	return s.SinceRouted < RouteSettleTime || s.Count(func(m Node) bool { return m.EndpointChanging }) > 0
}

// canLead reports whether a node could become master without losing a write.
func (s Situation) canLead(m, master Node) bool {
	return s.isMember(m) && s.isWanted(m) && !m.Deleting && !m.Misconf && m.InSync(master)
}
