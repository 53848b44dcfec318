package redis

import (
	"fmt"
	"slices"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// switchoverIfNeeded replaces a master that must go, while it still serves.
func (s situation) switchoverIfNeeded(master member) (step, bool) {
	if s.ghost == nil && master.deleting && master.deletingFor < routeSettleTime {
		return step{do: wait, message: "the master's pod is going", requeueAfter: routeSettleTime - master.deletingFor}, true
	}
	reason := s.urgentReason(master)
	if reason == "" && !s.isRouteSettling() {
		reason = s.plannedReason(master)
	}
	candidates := s.where(func(m member) bool { return s.canLead(m, master) })
	if reason == "" || len(candidates) == 0 {
		return step{}, false // first somebody must be in sync
	}
	slices.SortStableFunc(candidates, func(a, b member) int {
		if a.outdated != b.outdated {
			return boolToInt(a.outdated) - boolToInt(b.outdated)
		}
		return int(b.Offset - a.Offset)
	})
	return step{do: switchOver, nodes: []string{candidates[0].name}, reason: reason}, true
}

// urgentReason is why a master must be replaced without waiting for anything; empty if it need not be.
func (s situation) urgentReason(master member) string {
	switch {
	case s.ghost != nil:
		return commonv1.ReasonMasterPodDeleted
	case master.deleting:
		return commonv1.ReasonMasterTerminating
	case master.Misconf:
		return commonv1.ReasonDiskError
	}
	return ""
}

// plannedReason is why a master must be replaced that serves on until then; empty if it need not be.
func (s situation) plannedReason(master member) string {
	switch {
	case ordinal(master.name) >= s.Size:
		return commonv1.ReasonScaledDown
	case master.outdated && !s.Supervised && len(s.unansweredNodes()) == 0 && s.allOthers(master, func(m member) bool { return !m.outdated }):
		return commonv1.ReasonMasterOutdated
	}
	return ""
}

// requestedSwitchover grants a human's request for another master once that node is in sync.
func (s situation) requestedSwitchover(master member) (step, bool) {
	if s.SwitchoverTo == nil {
		return step{}, false
	}
	name := *s.SwitchoverTo
	m, exists := s.find(name)
	switch {
	case name == master.name:
		return step{do: dismissRequest, nodes: []string{name}}, true
	case !exists || !s.isWanted(m):
		return step{do: dismissRequest, nodes: []string{name},
			message: fmt.Sprintf("annotation %s: there is no pod %q to hand over to; name one of the pods in status.nodes", cachev1alpha1.RedisSwitchover, name)}, true
	}
	return step{do: switchOver, nodes: []string{name}, reason: commonv1.ReasonSwitchoverRequested}, s.canLead(m, master) && !s.isRouteSettling()
}

// waitForRoute waits for the route to settle before a switchover that can wait, once all else is done: then
// clients need not wait.
func (s situation) waitForRoute(master member) (step, bool) {
	return step{do: wait, message: "kube-proxy is taking in another change", requeueAfter: 4 * shortRequeue},
		s.isRouteSettling() && (s.SwitchoverTo != nil || s.plannedReason(master) != "")
}

// isRouteSettling reports whether kube-proxy may delay a change of the route because of one that came just before.
func (s situation) isRouteSettling() bool {
	return s.sinceRouted < routeSettleTime || s.count(func(m member) bool { return m.endpointChanging }) > 0
}

// canLead reports whether a node could take over without losing a write.
func (s situation) canLead(m, master member) bool {
	return s.isMember(m) && s.isWanted(m) && !m.deleting && !m.Misconf && m.inSync(master)
}
