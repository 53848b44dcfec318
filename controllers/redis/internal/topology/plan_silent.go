package topology

import (
	"fmt"
	"slices"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// UnreachableLimit is how long a replica may be silent, with all others well, before its
// pod is recreated.
const UnreachableLimit = time.Minute

// evictUnreachable deletes the pod of a node that cannot be asked any more. A former master that was replaced
// without proof of its end, and has not followed since, would answer its clients when it wakes: its pod's
// deletion is the only fence that reaches it. Any other node gets a minute.
func (s Situation) evictUnreachable(master Node) (Step, bool) {
	if last := s.Status.LastFailover; last != nil && last.From != master.Name {
		old, _ := s.Find(last.From)
		_, follows := s.memberNamed(old.Name)
		if old.PodUID == last.FromPodUID && !follows && s.isSilentFor(old, s.SilenceLimit) {
			return Step{Do: DeleteSilentPod, NodeNames: []string{old.Name}, Message: "it was master and does not answer"}, true
		}
	}
	for _, m := range s.Nodes {
		seen := slices.Contains(master.Attached, m.Address) // alive, though not to us
		if m.Name != master.Name && !seen && s.isSilentFor(m, s.unreachableLimit()) && s.othersInSync(master, m) {
			return Step{Do: DeleteSilentPod, NodeNames: []string{m.Name}, Message: fmt.Sprintf("it has not answered for %s", s.unreachableLimit())},
				true
		}
	}
	return Step{}, false
}

// unreachableLimit is the UnreachableLimit, or longer if a script may keep a replica silent for longer.
func (s Situation) unreachableLimit() time.Duration { return max(UnreachableLimit, s.SilenceLimit) }

func (s Situation) isSilentFor(m Node, limit time.Duration) bool {
	return m.Answer == wire.Silent && m.Address != "" && !m.Stopped && !m.Deleting && m.SilentFor >= limit
}

func (s Situation) othersInSync(master, but Node) bool {
	return s.allOthers(master, func(m Node) bool { return m.Name == but.Name || m.InSync(master) && !m.Deleting })
}

// untilUnreachable is how soon to look again whether a silent node is due for eviction, 0 when none is silent.
func (s Situation) untilUnreachable() time.Duration {
	limit := s.unreachableLimit()
	silent := s.Where(func(m Node) bool { return s.isSilentFor(m, 0) && m.SilentFor < limit })
	if len(silent) == 0 {
		return 0
	}
	return min(time.Second, limit-silent[0].SilentFor)
}
