package redis

import (
	"fmt"
	"slices"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
)

// switchoverIfNeeded a master that must go, while it still serves.
func (s planner) switchoverIfNeeded(master member) (step, bool) {
	if s.ghost == nil && master.deleting && master.deletingFor < routeSettleTime {
		return step{do: wait, why: "the master's pod is going", requeueAfter: routeSettleTime - master.deletingFor}, true
	}
	why := s.urgentReason(master)
	if why == "" && !s.isRouteSettling() {
		why = s.plannedReason(master)
	}
	candidates := s.where(func(m member) bool { return s.canLead(m, master) })
	if why == "" || len(candidates) == 0 {
		return step{}, false // first somebody must be in sync
	}
	slices.SortStableFunc(candidates, func(a, b member) int {
		if a.outdated != b.outdated {
			return boolToInt(a.outdated) - boolToInt(b.outdated)
		}
		return int(b.Offset - a.Offset)
	})
	return step{do: switchOver, nodes: []string{candidates[0].name}, why: why}, true
}

// urgentReason reasons to replace a master wait for nothing.
func (s planner) urgentReason(master member) string {
	switch {
	case s.ghost != nil:
		return "its pod was deleted by force"
	case master.deleting:
		return "its pod is going"
	case master.Misconf:
		return "it cannot write to its disk"
	}
	return ""
}

// plannedReason is why a master that serves on until it is replaced must be.
func (s planner) plannedReason(master member) string {
	switch {
	case ordinal(master.name) >= size(s.Redis):
		return "size is smaller now"
	case master.outdated && !isSupervised(s.Redis) && len(s.unansweredNodes()) == 0 && s.allOthers(master, func(m member) bool { return !m.outdated }):
		return "its pod is outdated"
	}
	return ""
}

// requestedSwitchover of a human for another master: granted once that node is in sync.
func (s planner) requestedSwitchover(master member) (step, bool) {
	name, asked := s.Annotations[cachev1alpha1.RedisSwitchover]
	m, exists := s.find(name)
	switch {
	case !asked:
		return step{}, false
	case name == master.name:
		return step{do: dismissRequest, nodes: []string{name}}, true
	case !exists || !s.isWanted(m):
		return step{do: dismissRequest, nodes: []string{name},
			why: fmt.Sprintf("annotation %s: there is no pod %q to hand over to; name one of the pods in status.nodes", cachev1alpha1.RedisSwitchover, name)}, true
	}
	return step{do: switchOver, nodes: []string{name}, why: "asked for by annotation"}, s.canLead(m, master) && !s.isRouteSettling()
}

// waitForRoute is waited for before a move that can wait, once all else is done: then
// clients need not.
func (s planner) waitForRoute(master member) (step, bool) {
	_, wished := s.Annotations[cachev1alpha1.RedisSwitchover]
	return step{do: wait, why: "kube-proxy is taking in another change", requeueAfter: 4 * shortRequeue},
		s.isRouteSettling() && (wished || s.plannedReason(master) != "")
}

// isRouteSettling is true when kube-proxy may hold a change of the route back for the sake
// of one that came just before.
func (s planner) isRouteSettling() bool {
	return s.sinceRouted < routeSettleTime || s.count(func(m member) bool { return m.endpointChanging }) > 0
}

// canLead is true for a node that could take over without losing a write.
func (s planner) canLead(m, master member) bool {
	return s.isMember(m) && s.isWanted(m) && !m.deleting && !m.Misconf && m.inSync(master)
}

func isSupervised(r *cachev1alpha1.Redis) bool {
	return r.Spec.Update != nil && r.Spec.Update.Strategy == cachev1alpha1.RedisSupervised
}
