package fleet

import (
	"fmt"
	"testing"
)

// An operator is stopped as it starts a pass. It wakes, finds a member to remove, and is stopped again. While it is,
// another takes over, and then removes the other member, whose process lives on next to its new pod. Wherever the first
// one continues, it must not have that process admitted again: no failover would count what it confirms.
func TestWhoIsRemovedIsNotAdmittedAgain(t *testing.T) {
	started := func() *state {
		s := newState(newModel(3, 1, false), budget{suspends: 1, writes: 1}, false)
		s.passUntilRest()
		*s = *s.successor(transition{action: startPass})
		*s = *s.successor(transition{action: suspended, a: atStart})
		s.passUntilRest() // another leads by now, with nothing to do
		s.model.apply(transition{action: died, a: 1})
		return s
	}
	requests := 0 // of its pass, when no one stops it
	for s := started(); s.hasSuspended; requests++ {
		*s = *s.successor(transition{action: stepPass, a: 1})
	}
	if requests < 5 {
		t.Fatalf("it removes no replica: its pass has %d requests", requests)
	}
	for first := range requests {
		for second := first; second <= requests; second++ {
			t.Run(fmt.Sprintf("stopped before request %d and %d", first, second), func(t *testing.T) {
				s := started()
				s.wakeFor(first)
				s.model.applyAll(transition{action: booted, a: 1})
				s.passUntilRest() // takes over
				s.model.applyAll(transition{action: died, a: 1})
				s.wakeFor(second - first)
				s.model.applyAll(transition{action: deletedByForce, a: 2}, transition{action: booted, a: 1})
				s.passUntilRest() // removes
				s.wakeFor(requests)
				s.model.apply(transition{action: wrote})
				for i := range s.model.procs {
					if p := &s.model.procs[i]; s.model.pods[p.node] != p.pod { // it tries, and hears the write
						s.model.sync(p)
						s.model.sync(p)
					}
				}
				if s.model.confirmed != "" {
					t.Error("a process that is not recorded has confirmed a write")
				}
				s.passUntilRest()
				if s.model.violation != "" || !s.model.hasHealthyMaster() || s.model.confirmed == "" {
					t.Errorf("%q; confirmed in the end: %q; the record: %+v", s.model.violation, s.model.confirmed, s.model.record)
				}
			})
		}
	}
}

// wakeFor lets the operator that was stopped have so many replies.
func (s *state) wakeFor(replies int) {
	for ; replies > 0 && s.hasSuspended; replies-- {
		*s = *s.successor(transition{action: stepPass, a: 1})
	}
}

// passUntilRest lets the operator that leads pass, and its replicas catch up, as long as there is anything to do.
func (s *state) passUntilRest() {
	for range 12 {
		for *s = *s.successor(transition{action: startPass}); s.leader.running; {
			*s = *s.successor(transition{action: stepPass})
		}
		for range 4 {
			s.model.catchUp()
		}
		*s = *s.successor(transition{action: elapsed})
	}
}
