package redis

import (
	"slices"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// unreachableLimit is how long a replica may be silent, with all others well, before its
// pod is made anew.
const unreachableLimit = time.Minute

// evictUnreachable deletes the pod of a node that cannot be asked any more. A former master that was replaced
// without proof of its end, and has not followed since, would answer its clients when it wakes: its pod's
// deletion is the only fence that reaches it. Any other node gets a minute.
func (s situation) evictUnreachable(master member) (step, bool) {
	if last := s.Status.LastFailover; last != nil && last.From != master.name {
		old, _ := s.find(last.From)
		_, follows := s.memberNamed(old.name)
		if old.podUID == last.FromPodUID && !follows && s.isSilentFor(old, s.SilenceLimit) {
			return step{do: deleteSilentPod, nodes: []string{old.name}, message: "it was master and does not answer"}, true
		}
	}
	for _, m := range s.members {
		seen := slices.Contains(master.Attached, m.address) // alive, though not to us
		if m.name != master.name && !seen && s.isSilentFor(m, unreachableLimit) && s.othersInSync(master, m) {
			return step{do: deleteSilentPod, nodes: []string{m.name}, message: "it has not answered for a minute"}, true
		}
	}
	return step{}, false
}

func (s situation) isSilentFor(m member, limit time.Duration) bool {
	return m.Answer == wire.Silent && m.address != "" && !m.stopped && !m.deleting && m.silentFor >= limit
}

func (s situation) othersInSync(master, but member) bool {
	return s.allOthers(master, func(m member) bool { return m.name == but.name || m.inSync(master) && !m.deleting })
}

// untilUnreachable is how soon to look again whether a silent node is due for eviction, 0 when none is silent.
func (s situation) untilUnreachable() time.Duration {
	silent := s.where(func(m member) bool { return s.isSilentFor(m, 0) && m.silentFor < unreachableLimit })
	if len(silent) == 0 {
		return 0
	}
	return min(time.Second, unreachableLimit-silent[0].silentFor)
}

// expelUnrecorded takes the stream from replicas that are not on record: they could confirm writes that no
// failover knows of. One is a replica that logged in under an earlier release at an address that no pod has by
// now. The nodes of the step are addresses, for the log only.
func (s situation) expelUnrecorded(master member) (step, bool) {
	var strangers []string
	for _, address := range master.Attached {
		if !slices.ContainsFunc(s.members, func(m member) bool { return m.address == address }) {
			strangers = append(strangers, address)
		}
	}
	return step{do: expelUnrecorded, nodes: strangers, message: "only what is recorded may confirm writes", requeueAfter: time.Second}, len(strangers) > 0
}
