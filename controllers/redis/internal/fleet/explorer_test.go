package fleet

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/test/explore"
)

// The explorer plays the shipped plan and acts in every order that the model allows: all that may happen between any two effects of
// a pass. A pass is played again from its start with the replies that it had until then, which are part of the state.

// move is a transition, how many steps follow it that are forced, and what interrupts the operator after them.
type move struct {
	transition transition
	forced     int8
	end        transition
}

func (m move) transitions() []transition {
	way := []transition{m.transition}
	for range m.forced {
		way = append(way, transition{action: stepPass})
	}
	if m.end.action != none {
		way = append(way, m.end)
	}
	return way
}

// explorer is one worker's model.
type explorer struct{ passes *passCache }

// explorers returns what makes the models of one search after the other. Each worker keeps the passes of the searches before.
func explorers() func() (newExplorer func() explore.Model[*state, move]) {
	var caches []*passCache
	return func() func() explore.Model[*state, move] {
		worker := 0
		return func() explore.Model[*state, move] {
			if worker == len(caches) {
				caches = append(caches, newPassCache())
			}
			worker++
			return explorer{caches[worker-1]}
		}
	}
}

// with returns a state that uses this worker's passes, whichever worker found it.
func (e explorer) with(s *state) *state {
	c := *s
	c.passes = e.passes
	return &c
}

// Successors yields the states that a transition leads to, with the forced steps that follow it, and each interruption of these.
func (e explorer) Successors(from *state) iter.Seq2[move, *state] {
	return func(yield func(move, *state) bool) {
		from := e.with(from)
		for _, t := range from.transitions() {
			s, m := from.successor(t), move{transition: t}
			for last := t; ; last = (transition{action: stepPass}) {
				if last.a == 0 {
					for _, end := range s.interruptions(last) {
						m.end = end
						if !yield(m, s.successor(end)) {
							return
						}
					}
				}
				if m.end = (transition{}); s.model.violation != "" || !s.forced() {
					break
				}
				s = s.successor(transition{action: stepPass})
				m.forced++
			}
			if !yield(m, s) {
				return
			}
		}
	}
}

func (e explorer) Apply(from *state, m move) *state {
	s := e.with(from)
	for _, t := range m.transitions() {
		s = s.successor(t)
	}
	return s
}

func (explorer) Key(s *state) uint64 { return s.key() }

func (explorer) Check(s *state) error {
	if s.model.violation != "" {
		return errors.New(s.model.violation)
	}
	return nil
}

// CheckRest returns a violation unless a master serves in the end, or the status says what a human must do.
func (explorer) CheckRest(s *state) error {
	switch did, u := s.model.runToRest(s.leader.memory); {
	case u.violation != "":
		return fmt.Errorf("once all trouble has ended: %s", u.violation)
	case did.Do != topology.Idle && did.Do != topology.Block:
		return fmt.Errorf("it does not come to rest: %s (%s)", did, did.Message)
	}
	return nil
}

// trace shows in words how a state was reached.
func trace(s *state, way []transition) string {
	var words strings.Builder
	for i, t := range way {
		fmt.Fprintf(&words, "%3d. %s\n", i+1, s.describe(t))
		s = s.successor(t)
	}
	return words.String()
}

// With FULL=1, a search is exhaustive unless it has a limit: then it ends at the depth where it has so many states. Where an
// interleaving is long, the search starts in the middle of it. LONG=1 searches further, by the millions.
func TestEveryOrderKeepsWhatIsConfirmed(t *testing.T) {
	before := debug.SetGCPercent(400)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	long, nextSearch := os.Getenv("LONG") != "", explorers()
	for _, c := range []struct {
		name  string
		given func(*testing.T) *model
		left  budget
		limit int
		long  bool
	}{
		{"one fault and one crash", usual(1, true), budget{faults: 1, crashes: 1, writes: 1}, 0, false},
		{"one fault and one crash, without volumes", usual(1, false), budget{faults: 1, crashes: 1, writes: 1}, 0, false},
		{"one fault and one crash, with two confirmations", usual(2, true), budget{faults: 1, crashes: 1, writes: 1}, 0, false},
		{"one fault and one crash while it is formed", cold, budget{faults: 1, crashes: 1, writes: 1}, 150_000, false},
		{"an operator that is stopped and wakes", usual(1, true), budget{crashes: 1, suspends: 1, writes: 1}, 0, false},
		{"one fault, a crash and a stale read", usual(1, true), budget{faults: 1, crashes: 1, stale: 1, writes: 1}, 150_000, false},
		{"two faults, a crash and a stopped operator", usual(1, true), budget{faults: 2, crashes: 1, suspends: 1, writes: 1}, 150_000, false},

		{"a first master whose replicas come", promotedCold, budget{faults: 2, writes: 2}, 50_000, false},
		{"an emptied set next to an older volume", emptiedNextToOlder, budget{faults: 1, crashes: 1}, 50_000, false},
		{"a failover that the backup does not know", failedOver, budget{faults: 1, crashes: 1}, 50_000, false},
		{"a replica without a pod", orphaned, budget{faults: 1, writes: 1}, 50_000, false},
		{"a master that its replicas do not hear", cutOffMaster, budget{faults: 1, crashes: 1}, 50_000, false},
		{"a master that hangs, and an operator that is stopped", hungMaster, budget{suspends: 1}, 200_000, false},
		{"a master without a pod, which cannot be asked", ghostMaster, budget{faults: 1, crashes: 1, writes: 3}, 20_000, false},
		{"a script that keeps the master busy for long, and one fault", busyMaster, budget{faults: 1, crashes: 1}, 20_000, false},
		{"a W that was lowered", loweredW, budget{faults: 2, writes: 1}, 50_000, false},
		{"snapshots of different age, and the master's is older", snapshotsOfDifferentAge, budget{faults: 1, crashes: 1}, 50_000, false},
		{"a replica that came back with an older snapshot", cameBack, budget{faults: 1, crashes: 1}, 50_000, false},

		{"a backup that is to be loaded", bootstrapped(true), budget{faults: 1, crashes: 1}, 20_000, false},
		{"a backup that is being loaded", loading(true), budget{faults: 2, crashes: 1, writes: 1}, 20_000, false},
		{"a backup that is being loaded, without volumes", loading(false), budget{faults: 2, crashes: 1, writes: 1}, 20_000, false},
		{"a backup that is being loaded, and an operator that is stopped", loading(true), budget{faults: 1, suspends: 1, writes: 1}, 20_000,
			false},
		{"a loaded backup that the API server's backup does not know", putBack(true, bootstrapped), budget{faults: 2, crashes: 1}, 10_000, false},
		{"a loaded backup that was being loaded by the API server's backup", putBack(true, loading), budget{faults: 2, crashes: 1}, 10_000,
			false},
		{"the same, without volumes", putBack(false, loading), budget{faults: 2, crashes: 1}, 10_000, false},
		{"data where a backup is to be loaded", holdingData(0), budget{faults: 1, crashes: 1}, 0, false},
		{"data at another node", holdingData(2), budget{faults: 1, crashes: 1}, 0, false},

		{"a backup of a set at rest is read", atRest(3, 1), budget{readers: 2, writes: 2}, 0, false},
		{"a backup of the only node is read", atRest(1, 0), budget{crashes: 1, readers: 2, writes: 2}, 0, false},
		{"a backup is read next to a replica that is behind, one fault", oneBehind, budget{faults: 1, readers: 1, writes: 2}, 50_000, false},
		{"a backup is read of a master whose replica comes back", replicaAway, budget{crashes: 1, readers: 1, writes: 2}, 20_000, false},
		{"a backup of a set that is being formed is read", cold, budget{readers: 1, writes: 1}, 20_000, false},
		{"a backup of a set whose master hangs is read", hungMaster, budget{faults: 1, readers: 1, writes: 2}, 50_000, false},
		{"a backup of a set whose former master wakes", deposed, budget{faults: 1, readers: 1, writes: 2}, 20_000, false},

		{"two faults and one crash", usual(1, true), budget{faults: 2, crashes: 1, writes: 1}, 0, true},
		{"one fault and a stopped operator", usual(1, true), budget{faults: 1, suspends: 1, writes: 1}, 20_000_000, true},
		{"four faults, a crash and a stopped operator", usual(1, true), budget{faults: 4, crashes: 1, suspends: 1, writes: 2}, 12_000_000, true},
	} {
		if c.long && !long || testing.Short() && c.limit > 50_000 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			start := time.Now()
			first := newState(c.given(t), c.left, true)
			search := explore.Search[*state, move]{Start: first, NewModel: nextSearch(), Limit: c.limit, FinishesDepth: true, RestEvery: 256}
			found := search.Run()
			t.Logf("%d states, depth %d, %s", found.States, found.Depth, time.Since(start).Round(time.Second))
			if found.Fault != nil {
				var way []transition
				for _, m := range found.Fault.Way {
					way = append(way, m.transitions()...)
				}
				t.Errorf("%v, after:\n%s", found.Fault.Err, trace(first, way))
			}
		})
	}
}
