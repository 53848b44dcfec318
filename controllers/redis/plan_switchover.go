package redis

import (
	"fmt"
	"slices"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
)

// relieve a master that must go, while it still serves.
func (s situation) relieve(master member) (step, bool) {
	var why string
	switch {
	case s.ghost != nil:
		why = "its pod was deleted by force"
	case master.deleting && master.deletingFor < stirring:
		return step{do: wait, why: "the master's pod is going", after: stirring - master.deletingFor}, true
	case master.deleting:
		why = "its pod is going"
	case master.Misconf:
		why = "it cannot write to its disk"
	case ordinal(master.name) >= size(s.Redis):
		why = "size is smaller now"
	case master.outdated && !supervised(s.Redis) && len(s.unheard()) == 0 && s.others(master, func(m member) bool { return !m.outdated }):
		why = "its pod is outdated"
	default:
		return step{}, false
	}
	heirs := s.where(func(m member) bool { return s.canLead(m, master) })
	if len(heirs) == 0 {
		return step{}, false // first somebody must be in sync
	}
	if s.canWait(master) && s.stirred() { // and clients then need not
		return s.calm(master), true
	}
	slices.SortStableFunc(heirs, func(a, b member) int {
		if a.outdated != b.outdated {
			return yes(a.outdated) - yes(b.outdated)
		}
		return int(b.Offset - a.Offset)
	})
	return step{do: handOver, nodes: []string{heirs[0].name}, why: why}, true
}

// canWait is true for a master that serves on until it is replaced.
func (s situation) canWait(master member) bool {
	return !master.deleting && !master.Misconf && s.ghost == nil
}

// wish of a human for another master: granted once that node is in sync.
func (s situation) wish(master member) (step, bool) {
	name, asked := s.Annotations[cachev1alpha1.RedisSwitchover]
	m, exists := s.find(name)
	switch {
	case !asked:
		return step{}, false
	case name == master.name:
		return step{do: dismiss, nodes: []string{name}}, true
	case !exists || !s.wanted(m):
		return step{do: dismiss, nodes: []string{name},
			why: fmt.Sprintf("annotation %s: there is no pod %q to hand over to; name one of the pods in status.nodes", cachev1alpha1.RedisSwitchover, name)}, true
	}
	if s.canLead(m, master) && s.stirred() {
		return s.calm(master), true
	}
	return step{do: handOver, nodes: []string{name}, why: "asked for by annotation"}, s.canLead(m, master)
}

// stirred is true when kube-proxy may hold a change of the route back for the sake
// of one that came just before.
func (s situation) stirred() bool {
	return s.sinceRouted < stirring || s.count(func(m member) bool { return m.arriving }) > 0
}

// calm lets what came before come to its end, while the next change of the route waits for kube-proxy.
func (s situation) calm(master member) step {
	if next, ok := s.bidFarewell(master); ok {
		return next
	}
	return step{do: wait, why: "kube-proxy is taking in another change", after: 4 * soon}
}

// canLead is true for a node that could take over without losing a write.
func (s situation) canLead(m, master member) bool {
	return s.member(m) && s.wanted(m) && !m.deleting && !m.Misconf && m.inSync(master)
}

func supervised(r *cachev1alpha1.Redis) bool {
	return r.Spec.Update != nil && r.Spec.Update.Strategy == cachev1alpha1.RedisSupervised
}
