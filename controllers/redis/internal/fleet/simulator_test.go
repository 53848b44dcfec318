package fleet

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/test/explore"
)

// The simulator takes one of the explorer's transitions after the other by chance: it comes further
// from the start, and to larger sets.

// interleavings that are played; ten times as many with FULL=1, and a million with LONG=1.
const interleavings = 2_000

// walk is one interleaving.
type walk struct {
	rand  *rand.Rand
	state *state
	first *state
	path  []transition
	mild  bool // nothing happened that a human may have to decide on
}

func newWalk(seed uint64) *walk {
	w := &walk{rand: rand.New(rand.NewPCG(seed, 7)), mild: true}
	nodes := int8(2 + w.rand.IntN(3))
	minimum := int8(1)
	if nodes > 2 && w.rand.IntN(3) == 0 {
		minimum = 2
	}
	w.first = newState(newModel(nodes, minimum, w.rand.IntN(2) == 0), budget{faults: int8(1 + w.rand.IntN(5)), crashes: 2, suspends: 1,
		stale: 2, writes: 6, drains: w.rand.IntN(2) == 0, owner: w.rand.IntN(4) == 0}, w.rand.IntN(2) == 0)
	w.first.model.snapshots = w.first.model.storage && seed%3 == 0
	w.state = w.first.clone()
	return w
}

func (w *walk) take(t transition) bool {
	w.path = append(w.path, t)
	w.state = w.state.successor(t)
	return w.state.model.violation == ""
}

// choose a transition: mostly the operator's, seldom a fault.
func (w *walk) choose() transition {
	turns := w.state.transitions()
	if w.state.left.crashes > 0 {
		turns = append(turns, transition{action: crashed})
	}
	if w.state.left.suspends > 0 && w.state.leader.running {
		turns = append(turns, transition{action: suspended})
	}
	for {
		t := turns[w.rand.IntN(len(turns))]
		switch {
		case t.fault() && w.rand.IntN(12) > 0, (t.action == crashed || t.action == suspended) && w.rand.IntN(8) > 0,
			(t.action == hibernated || t.action == recreated) && w.rand.IntN(20) > 0:
			continue
		case t.action == restored, t.action == suspended, t.action == startStale,
			t.action == recreated && w.first.left.drains: // from what volumes are left with in the middle of deletions
			w.mild = false
		}
		return t
	}
}

// run an interleaving of so many transitions, then end all trouble. Unless a human is asked for, all must
// be well again.
func (w *walk) run(turns int) string {
	for range turns {
		ok := w.take(w.quickly(w.choose()))
		if u := w.state.model; ok && w.rand.IntN(40) == 0 && !u.backedUp && u.record.hasReplication {
			ok = w.take(transition{action: backedUp})
		}
		if !ok {
			return w.state.model.violation
		}
	}
	faults := w.first.left.faults - w.state.left.faults
	if !w.state.model.record.hasReplication { // two first masters, neither of which was recorded: nothing was confirmed, and a human chooses
		faults += w.first.left.crashes - w.state.left.crashes
	}
	did, u := w.state.model.runToRest(w.state.leader.memory)
	switch {
	case u.violation != "":
		return "once all trouble has ended: " + u.violation
	case did.Do == topology.Block && w.mild && faults <= 1:
		return "after one fault a human is asked for: " + did.Message
	case did.Do != topology.Idle && did.Do != topology.Block:
		return fmt.Sprintf("it does not come to rest: %s (%s)", did, did.Message)
	}
	return ""
}

// quickly takes the operator's own transition instead, every other time.
func (w *walk) quickly(t transition) transition {
	own := transition{action: stepPass}
	if w.rand.IntN(2) == 0 && slices.Contains(w.state.transitions(), own) {
		return own
	}
	return t
}

// runToRest ends all trouble and passes until there is nothing to do.
func (m *model) runToRest(known operatorMemory) (topology.Step, *model) {
	m = m.clone()
	m.cuts, m.record.sleep = 0, false
	m.record.version++
	var did topology.Step
	for range 150 {
		m.repair()
		var err error
		if did, err = m.runPass(&known); m.violation != "" || err == nil &&
			(did.Do == topology.Idle && m.hasHealthyMaster() || did.Do == topology.Block) {
			break
		}
	}
	return did, m
}

// repair what is broken: who hangs continues, who is dead starts, who has no pod ends.
func (m *model) repair() {
	for i := len(m.procs) - 1; i >= 0; i-- {
		p := &m.procs[i]
		if p.busy = false; p.hung {
			m.wake(p)
		}
		switch {
		case p.alive && m.pods[p.node] != p.pod:
			m.kill(p)
		case !p.alive && m.canStart(p.node):
			m.start(p)
		}
	}
}

// hasHealthyMaster reports whether a master serves. Where it lacks what was confirmed, that is a violation.
func (m *model) hasHealthyMaster() bool {
	p := m.processOf(m.record.recordedMaster.pod)
	if p == nil || !p.master {
		return false
	}
	for _, operation := range m.confirmed {
		if !strings.ContainsRune(p.data, operation) {
			m.violate("the master lacks the confirmed write %q", string(operation))
		}
	}
	return true
}

func TestNoConfirmedWriteIsLost(t *testing.T) {
	usual := debug.SetGCPercent(800) // all garbage is small and short-lived
	t.Cleanup(func() { debug.SetGCPercent(usual) })
	parts := uint64(runtime.GOMAXPROCS(0)) //nolint:gosec // a few
	runs := uint64(interleavings)
	switch {
	case os.Getenv("LONG") != "":
		runs = 1_000_000
	case explore.IsFull():
		runs *= 10
	}
	for part := range parts {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			for seed := part; seed < runs && !t.Failed(); seed += parts {
				w := newWalk(seed)
				turns := 60
				if seed%16 == 0 {
					turns = 240
				}
				if broken := w.run(turns); broken != "" {
					t.Errorf("seed %d: %s, after:\n%s", seed, broken, trace(w.first, w.path))
				}
			}
		})
	}
}
