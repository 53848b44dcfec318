package redis

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// The explorer plays the shipped plan and acts in every order that the model allows: all that
// may happen between any two effects of a pass, breadth first, so that what it finds is told by
// the shortest way there. A pass is played again from its beginning with the replies that it
// had so far, which are part of the state.

// operator is one process of ours, and how far its pass is.
type operator struct {
	memory  operatorMemory
	running bool
	read    reading // as the pass began
	now     reading // with what it has written since
	replies []reply
	next    request // that waits for its reply
	closed  []id    // servers where another operator has closed its connections
}

// state of the search.
type state struct {
	model        *model
	leader       operator
	suspended    operator // that was stopped in a pass, and may wake
	hasSuspended bool
	left         budget
	earlier      reading // of the API server, as the last pass began, while one may be stale
	coarse       bool    // what changes nothing is one step, when more of it is in a row
	passes       *passCache
}

// unanswered stops a pass at the first request that was not answered yet.
type unanswered struct{ request }

// passResult is what a pass comes to: a request that was not answered yet, or its end.
type passResult struct {
	pending bool
	next    request
	memory  operatorMemory
}

// replay plays the operator's pass with the replies that it had. At each request beyond them, the
// caller adds one more, or ends it.
func (o *operator) replay(more func(request) bool) (p passResult) {
	defer func() {
		if stopped, is := recover().(*unanswered); is {
			p = passResult{pending: true, next: stopped.request}
		} else if stopped != nil {
			panic(stopped)
		}
	}()
	at := 0
	_, p.memory, _ = playPass(o.read, o.memory, func(q request, read *reading) reply {
		if at == len(o.replies) && !more(q) {
			panic(&unanswered{q})
		}
		at++
		r := o.replies[at-1]
		switch { // what the API server told of its change is known to the pass
		case r.failed:
		case q.effect == saveEffect:
			read.record = q.record
			read.record.size, read.record.w = o.read.record.size, o.read.record.w
		case q.effect == stampEffect:
			read.stamps[q.node] = q.label
		}
		return r
	})
	return p
}

func (s *state) clone() *state {
	c := *s
	c.model = s.model.clone()
	return &c
}

// transitions are those that may come next. While the operator is about to write to the API server, or to
// command a server, nothing is tried that touches neither: before or after, it comes to the same.
// The same holds for one that was stopped, and may go on at any time.
func (s *state) transitions() []transition {
	list := s.model.enabledTransitions(s.left)
	if s.leader.running {
		list = slices.DeleteFunc(list, func(one transition) bool {
			return s.model.isIndependent(one, s.leader.next) && (!s.hasSuspended || s.model.isIndependent(one, s.suspended.next))
		})
		list = append(list, transition{action: stepPass})
		if q := s.leader.next.effect; s.left.faults > 0 && (q == saveEffect || q == stampEffect) {
			list = append(list, transition{action: writeRefused}, transition{action: replyLost})
		}
	} else {
		list = append(list, transition{action: beginPass}, transition{action: elapsed})
		if s.left.stale > 0 && s.earlier.nodes > 0 && s.stale() != s.model.read() {
			list = append(list, transition{action: beginStale})
		}
	}
	if s.hasSuspended {
		list = append(list, transition{action: stepPass, a: 1})
	}
	return list
}

// forced reports whether the operator's next step comes before all else: nothing else can
// happen, or it leaves all as it is.
func (s *state) forced() bool {
	if !s.leader.running || s.hasSuspended {
		return false
	}
	q := s.leader.next
	return q.effect == routeEffect && q.node == s.model.service || len(s.transitions()) == 1
}

// interruptions of the operator after a transition of its own. When it dies or is stopped later,
// but before its next one, it comes to the same; before it has done anything, a pass that ends
// is none.
func (s *state) interruptions(after transition) []transition {
	var list []transition
	begun := after.action == beginPass || after.action == beginStale
	running := s.leader.running && s.leader.next.effect != lookEffect
	if s.left.crashes > 0 && after.action == stepPass && (running || !s.leader.running) {
		list = append(list, transition{action: crashed})
	}
	if s.left.suspends > 0 && (running || s.leader.running && s.leader.next.redial) && (after.action == stepPass || begun) {
		list = append(list, transition{action: suspended})
	}
	if s.left.suspends > 0 && begun {
		list = append(list, transition{action: suspended, a: atBegin})
	}
	return list
}

// atBegin of its pass is the operator stopped, before it has looked at a server.
const atBegin = 1

// successor is the state that a transition leads to.
func (s *state) successor(e transition) *state {
	c := s.clone()
	c.left.faults -= int8(boolToInt(e.fault()))
	c.left.crashes -= int8(boolToInt(e.action == crashed))
	c.left.suspends -= int8(boolToInt(e.action == suspended))
	switch e.action {
	case beginPass, beginStale:
		read := c.model.read()
		if e.action == beginStale {
			read = s.stale()
			c.left.stale--
		}
		if c.earlier = (reading{}); c.left.stale > 0 {
			c.earlier = read
		}
		c.leader = operator{memory: c.leader.memory, running: true, read: read, now: read}
		c.advance(&c.leader, c.coarse)
	case stepPass, writeRefused, replyLost:
		c.step(e.a == 1, e.action)
	case crashed:
		c.leader = c.newOperator()
	case suspended:
		c.suspended, c.hasSuspended, c.leader = c.leader, true, c.newOperator()
		if e.a == atBegin {
			c.suspended.now, c.suspended.replies, c.suspended.closed = c.suspended.read, nil, nil
			c.advance(&c.suspended, false)
		}
	case elapsed:
		c.model.apply(e)
		c.leader.memory.age(c.model)
	default:
		c.model.apply(e)
	}
	return c
}

// newState is a state in which an operator begins.
func newState(u *model, left budget, coarse bool) *state {
	s := &state{model: u, left: left, coarse: coarse}
	s.leader = s.newOperator()
	return s
}

// newOperator is one that is in charge of nothing yet.
func (s *state) newOperator() operator {
	return operator{memory: operatorMemory{identity: s.model.next()}}
}

// age what the operator knows. It hears a server that it can reach all the time.
func (k *operatorMemory) age(u *model) {
	for i := range k.servers {
		p := u.processOf(k.servers[i].pod)
		if heard := p != nil && p.alive && !p.hung && u.canReach(p.node, operatorSide); !heard && k.servers[i].heard == justNow {
			k.servers[i].heard = longAgo
		}
		if p == nil || !p.linked { // its login has led nowhere
			k.servers[i].knowsLogin = 0
		}
	}
	if k.fenced == justNow {
		k.fenced = longAgo
	}
	if k.cutOff == justNow {
		k.cutOff = longAgo
	}
}

// step answers the request that a pass has come to, unless the API server does not.
func (s *state) step(sleeper bool, how action) {
	o := &s.leader
	if sleeper {
		o = &s.suspended
	}
	idle := s.changesNothing(o.next)
	s.answer(o, sleeper, how)
	s.advance(o, idle && s.coarse)
	s.hasSuspended = s.hasSuspended && s.suspended.running
}

// changesNothing reports whether a request changes nothing. While no other operator is suspended, there
// are no connections to kill. A server that ends between that and the look before it ends the pass,
// which then was none.
func (s *state) changesNothing(q request) bool {
	switch q.effect {
	case lookEffect:
		return true
	case killOthersEffect, unchangedEffect, stampsUnchangedEffect:
		return !s.hasSuspended
	}
	return false
}

// advance a pass to its next request, or past all that changes nothing.
func (s *state) advance(o *operator, idle bool) {
	goesOn := func(q request) bool {
		if !idle || !s.changesNothing(q) {
			return false
		}
		o.next = q
		s.answer(o, o == &s.suspended, stepPass)
		return true
	}
	p := s.passes.replay(o, s.model.nodes, goesOn)
	if !p.pending {
		*o = operator{memory: p.memory}
		return
	}
	o.next = p.next
}

func (s *state) answer(o *operator, sleeper bool, how action) {
	if o.next.redial && slices.Contains(o.closed, o.next.pod) {
		o.closed = slices.DeleteFunc(slices.Clone(o.closed), func(pod id) bool { return pod == o.next.pod })
	}
	r, before := reply{failed: true}, o.now
	if how != writeRefused && (o.next.pod == 0 || !slices.Contains(o.closed, o.next.pod)) {
		r = s.model.answer(o.next, &o.now)
		if r.failed && o.next.pod != 0 { // and its connection is lost
			o.closed = append(slices.Clone(o.closed), o.next.pod)
		}
	}
	if o.next.effect == killOthersEffect && !r.failed && s.hasSuspended && !sleeper {
		s.suspended.closed = append(slices.Clone(s.suspended.closed), o.next.pod)
	}
	if how == replyLost {
		r, o.now = reply{failed: true}, before
	}
	o.replies = append(slices.Clone(o.replies), r)
}

// stale is what the last pass read, but for the object of which the operator is in charge: it acts on none that is
// older than its own last write.
func (s *state) stale() reading {
	read := s.earlier
	if s.leader.memory.identity == s.model.record.holder {
		read.record = s.model.record
	}
	return read
}

// origin of a state: from where, by which transition, how many steps that were forced, and what
// interrupted the operator after them.
type origin struct {
	from       int32
	transition transition
	forced     int8
	end        action
}

func (o origin) transitions() []transition {
	way := []transition{o.transition}
	for range o.forced {
		way = append(way, transition{action: stepPass})
	}
	if o.end != none {
		way = append(way, transition{action: o.end})
	}
	return way
}

// search is breadth first, one depth after the other, by as many workers as there are cores. It
// keeps how each state was reached, and of the states themselves those that are expanded soon: all
// would fill the memory.
type search struct {
	mu        sync.Mutex
	seen      map[uint64]struct{}
	origins   []origin
	limit     int
	workers   []*worker
	violation string
	at        int32
}

// worker of a search. It keeps the states on the way to the one that it expanded last: the next
// one is most often a sibling.
type worker struct {
	path []found
}

// found is a state and its place; without the state where a depth has more than mostKept.
type found struct {
	state *state
	place int32
}

// mostKept states of a depth that a worker has found, a few KB each.
const mostKept = 1 << 14

// explore all that may follow, and give the number of states and the depth.
func (x *search) explore(first *state) (states, depth int) {
	x.seen = map[uint64]struct{}{first.key(): {}}
	x.origins = []origin{{from: -1}}
	for range runtime.GOMAXPROCS(0) {
		own := first.clone()
		own.passes = newPassCache()
		x.workers = append(x.workers, &worker{[]found{{own, 0}}})
	}
	frontier := []found{{place: 0}}
	for len(frontier) > 0 && x.violation == "" && (x.limit == 0 || len(x.origins) < x.limit) {
		frontier = x.deepen(frontier)
		depth++
	}
	return len(x.origins), depth
}

func (x *search) deepen(frontier []found) []found {
	parts, share := make([][]found, len(x.workers)), (len(frontier)+len(x.workers)-1)/len(x.workers)
	var all sync.WaitGroup
	for w, worker := range x.workers {
		all.Go(func() {
			for i := w * share; i < min(len(frontier), (w+1)*share) && x.violation == ""; i++ {
				from := frontier[i]
				if frontier[i].state = nil; from.state == nil {
					from = worker.lead(x.path(from.place))
				}
				from.state.passes = worker.path[0].state.passes // whichever worker found it
				parts[w] = x.expand(from, parts[w])
			}
		})
	}
	all.Wait()
	return slices.Concat(parts...)
}

// hop of the way to a state.
type hop struct {
	place  int32
	origin origin
}

// path from the first state to a place.
func (x *search) path(place int32) []hop {
	x.mu.Lock()
	defer x.mu.Unlock()
	var way []hop
	for ; place > 0; place = x.origins[place].from {
		way = append(way, hop{place, x.origins[place]})
	}
	slices.Reverse(way)
	return way
}

// lead gives the state at the end of a way.
func (w *worker) lead(way []hop) found {
	same := 0
	for same < len(way) && same+1 < len(w.path) && w.path[same+1].place == way[same].place {
		same++
	}
	w.path = w.path[:same+1]
	for _, one := range way[same:] {
		s := w.path[len(w.path)-1].state
		for _, e := range one.origin.transitions() {
			s = s.successor(e)
		}
		w.path = append(w.path, found{s, one.place})
	}
	return w.path[len(w.path)-1]
}

func (x *search) expand(from found, next []found) []found {
	for _, e := range from.state.transitions() {
		s := from.state.successor(e)
		o := origin{from: from.place, transition: e}
		for last := e; ; last = (transition{action: stepPass}) {
			if last.a == 0 {
				for _, end := range s.interruptions(last) {
					o.end = end.action
					next = x.addState(s.successor(end), o, next)
				}
			}
			if o.end = none; s.model.violation != "" || !s.forced() {
				break
			}
			s = s.successor(transition{action: stepPass})
			o.forced++
		}
		next = x.addState(s, o, next)
	}
	if from.place%restSampling == 0 && x.violation == "" {
		x.checkRest(from)
	}
	return next
}

// restSampling is of how many states one is led on without any more trouble: it takes as long as they do.
const restSampling = 256

// checkRest records a violation unless a master serves in the end, or a human is told what to do.
func (x *search) checkRest(from found) {
	broken := ""
	switch did, u := from.state.model.runToRest(from.state.leader.memory); {
	case u.violation != "":
		broken = "once all trouble has ended: " + u.violation
	case did.Do != topology.Idle && did.Do != topology.Block:
		broken = fmt.Sprintf("it does not come to rest: %s (%s)", did, did.Message)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if broken != "" && x.violation == "" {
		x.violation, x.at = broken, from.place
	}
}

// addState adds a state, which is searched on unless it is known.
func (x *search) addState(s *state, by origin, next []found) []found {
	key := s.key()
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, known := x.seen[key]; known {
		return next
	}
	x.seen[key] = struct{}{}
	place := int32(len(x.origins)) //nolint:gosec // far below
	x.origins = append(x.origins, by)
	if s.model.violation != "" && x.violation == "" {
		x.violation, x.at = s.model.violation, place
	}
	if len(next) >= mostKept {
		s = nil
	}
	return append(next, found{s, place})
}

// trace tells in words how a state was reached.
func (x *search) trace(first *state, at int32) string {
	var way []transition
	for _, one := range x.path(at) {
		way = append(way, one.origin.transitions()...)
	}
	var words strings.Builder
	s := first
	for i, e := range way {
		fmt.Fprintf(&words, "%3d. %s\n", i+1, s.describe(e))
		s = s.successor(e)
	}
	return words.String()
}

// describe tells a transition in words.
func (s *state) describe(e transition) string {
	u := s.model
	switch e.action {
	case writeRefused, replyLost:
		return fmt.Sprintf("%s %s node %d", actionWords[e.action], effectNames[s.leader.next.effect], s.leader.next.node)
	case stepPass:
		o, who := &s.leader, "the operator"
		if e.a == 1 {
			o, who = &s.suspended, "the operator that was stopped"
		}
		text := fmt.Sprintf("%s %s node %d", who, effectNames[o.next.effect], o.next.node)
		c := s.successor(e)
		if o := &c.leader; e.a == 0 && !o.running {
			text += ", and ends its pass"
		}
		return text
	case cutOff, healed:
		return fmt.Sprintf("%s %d and %d", actionWords[e.action], e.a, e.b)
	case elapsed, lowered, backedUp, restored, sourceEnded, beginPass, beginStale, crashed, suspended, readerBegan, readerEnded:
		return actionWords[e.action]
	}
	if e.action == readerAsked || e.action == readerChose || e.action == readerRead {
		return fmt.Sprintf("%s node %d", actionWords[e.action], e.a)
	}
	return fmt.Sprintf("%s node %d", actionWords[e.action], u.procs[e.a].node)
}

// A search is exhaustive unless it has a limit: then it ends at the depth where it has so many
// states. Where an interleaving is long, the search begins in the middle of it. LONG=1 searches further,
// by the millions.
func TestEveryOrderKeepsWhatIsConfirmed(t *testing.T) {
	before := debug.SetGCPercent(400)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	long := os.Getenv("LONG") != ""
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
		{"an emptied set beside an older volume", emptiedBesideOlder, budget{faults: 1, crashes: 1}, 50_000, false},
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
		{"a backup that is being loaded, and an operator that is stopped", loading(true), budget{faults: 1, suspends: 1, writes: 1}, 20_000, false},
		{"a loaded backup that the API server's backup does not know", putBack(true, bootstrapped), budget{faults: 2, crashes: 1}, 10_000, false},
		{"a loaded backup that was being loaded by the API server's backup", putBack(true, loading), budget{faults: 2, crashes: 1}, 10_000, false},
		{"the same, without volumes", putBack(false, loading), budget{faults: 2, crashes: 1}, 10_000, false},
		{"data where a backup is to be loaded", holdingData(0), budget{faults: 1, crashes: 1}, 0, false},
		{"data at another node", holdingData(2), budget{faults: 1, crashes: 1}, 0, false},

		{"a backup of a set at rest is read", atRest(3, 1), budget{readers: 2, writes: 2}, 0, false},
		{"a backup of the only node is read", atRest(1, 0), budget{crashes: 1, readers: 2, writes: 2}, 0, false},
		{"a backup is read beside a replica that is behind, one fault", oneBehind, budget{faults: 1, readers: 1, writes: 2}, 50_000, false},
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
			began := time.Now()
			first := newState(c.given(t), c.left, true)
			x := &search{limit: c.limit}
			states, depth := x.explore(first)
			t.Logf("%d states, depth %d, %s", states, depth, time.Since(began).Round(time.Second))
			if x.violation != "" {
				t.Errorf("%s, after:\n%s", x.violation, x.trace(first, x.at))
			}
		})
	}
}
