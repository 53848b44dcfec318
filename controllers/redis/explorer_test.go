package redis

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The explorer plays the shipped plan and acts in every order that the model allows: all that
// may happen between any two effects of a pass, breadth first, so that what it finds is told by
// the shortest way there. A pass is played again from its beginning with the replies that it
// had so far, which are part of the state.

// operator is one process of ours, and how far its pass is.
type operator struct {
	known   recollection
	running bool
	read    reading // as the pass began
	now     reading // with what it has written since
	replies []reply
	next    question // that waits for its reply
	closed  []id     // servers where another operator has closed its connections
}

// state of the search.
type state struct {
	universe *universe
	leader   operator
	sleeper  operator // that was stopped in a pass, and may wake
	sleeping bool
	left     budget
	coarse   bool // looks in a row are one step
}

// unasked stops a pass at the first question that was not answered yet.
type unasked struct{ question }

// play the operator's pass up to the question that was not answered yet; false when it
// comes to its end without one.
func (o *operator) play() (q question, asks bool, did step, after recollection, err error) {
	defer func() {
		if stopped, is := recover().(*unasked); is {
			q, asks = stopped.question, true
		} else if stopped != nil {
			panic(stopped)
		}
	}()
	at := 0
	did, after, err = pass(o.read, o.known, func(q question, read *reading) reply {
		if at == len(o.replies) {
			panic(&unasked{q})
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
	return q, false, did, after, err
}

func (s *state) clone() *state {
	c := *s
	c.universe = s.universe.clone()
	return &c
}

// turns that may come next. While the operator is about to write to the API server, or to
// command a server, nothing is tried that touches neither: before or after, it comes to the same.
func (s *state) turns() []turn {
	list := s.universe.possible(s.left)
	if s.leader.running {
		list = slices.DeleteFunc(list, func(one turn) bool { return s.universe.apart(one, s.leader.next) })
	}
	if s.leader.running {
		list = append(list, turn{what: stepPass})
	} else {
		list = append(list, turn{what: beginPass}, turn{what: elapsed})
	}
	// Before it has done anything, a pass that ends is none.
	if s.left.crashes > 0 && (!s.leader.running || s.leader.next.effect != lookEffect) {
		list = append(list, turn{what: crashed})
	}
	if s.left.suspends > 0 && s.leader.running && s.leader.next.effect != lookEffect {
		list = append(list, turn{what: suspended})
	}
	if s.sleeping {
		list = append(list, turn{what: stepPass, a: 1})
	}
	return list
}

// after is the state that an event leads to.
func (s *state) after(e turn) *state {
	c := s.clone()
	c.left.faults -= int8(yes(e.fault()))
	c.left.crashes -= int8(yes(e.what == crashed))
	c.left.suspends -= int8(yes(e.what == suspended))
	switch e.what {
	case beginPass:
		read := c.universe.read()
		c.leader = operator{known: c.leader.known, running: true, read: read, now: read}
		c.advance(&c.leader, c.coarse)
	case stepPass:
		c.step(e.a == 1)
	case crashed:
		c.leader = operator{}
	case suspended:
		c.sleeper, c.sleeping, c.leader = c.leader, true, operator{}
	case elapsed:
		c.universe.happen(e)
		c.leader.known.age(c.universe)
	default:
		c.universe.happen(e)
	}
	return c
}

// age what the operator knows. It hears a server that it can reach all the time.
func (k *recollection) age(u *universe) {
	for i := range k.servers {
		p := u.of(k.servers[i].pod)
		if heard := p != nil && p.alive && !p.hung && u.reach(p.node, operatorSide); !heard && k.servers[i].heard == justNow {
			k.servers[i].heard = longAgo
		}
	}
	if k.frozen == justNow {
		k.frozen = longAgo
	}
}

// step answers the question that a pass has come to.
func (s *state) step(sleeper bool) {
	o := &s.leader
	if sleeper {
		o = &s.sleeper
	}
	looks := o.next.effect == lookEffect
	s.answer(o, sleeper)
	s.advance(o, looks && s.coarse)
	s.sleeping = s.sleeping && s.sleeper.running
}

// advance a pass to its next question, or past all looks that it begins with.
func (s *state) advance(o *operator, looks bool) {
	for {
		q, asks, _, known, _ := o.play()
		if !asks {
			*o = operator{known: known}
			return
		}
		o.next = q
		if !looks || q.effect != lookEffect {
			return
		}
		s.answer(o, o == &s.sleeper)
	}
}

func (s *state) answer(o *operator, sleeper bool) {
	var r reply
	if at := slices.Index(o.closed, o.next.pod); o.next.pod != 0 && at >= 0 {
		o.closed = slices.Delete(slices.Clone(o.closed), at, at+1) // and the next command goes over a new one
		r = reply{failed: true}
	} else {
		r = s.universe.answer(o.next, &o.now)
	}
	if o.next.effect == outrankEffect && !r.failed && s.sleeping && !sleeper {
		s.sleeper.closed = append(slices.Clone(s.sleeper.closed), o.next.pod)
	}
	o.replies = append(slices.Clone(o.replies), r)
}

// key of a state: the same for all states that differ in names alone.
func (s *state) key() uint64 {
	k := keeper{buffer: make([]byte, 0, 512)}
	u := s.universe
	for _, pod := range u.pods[:u.nodes] {
		k.id(pod)
	}
	for i := range u.procs {
		p := &u.procs[i]
		k.put(p.node, p.formerAt, p.start, p.minReplicas, flags(p.alive, p.hung, p.master, p.linked, p.pinned, p.damaged))
		k.id(p.pod, p.run, p.follows, p.login, p.history, p.former)
		k.id(p.admits[:u.nodes]...)
		k.text(p.data)
	}
	k.record(&u.record, u.nodes)
	k.labels(u.stamps[:u.nodes])
	k.put(u.service, u.writes, flags(u.backedUp), s.left.faults, s.left.crashes, s.left.suspends)
	if u.backedUp {
		k.record(&u.backup, u.nodes)
		k.labels(u.backupStamps[:u.nodes])
	}
	k.buffer = binary.LittleEndian.AppendUint32(k.buffer, u.cuts)
	k.text(u.confirmed)
	k.operator(&s.leader, u)
	if s.sleeping {
		k.operator(&s.sleeper, u)
	}
	return maphash.Bytes(seed, k.buffer)
}

var seed = maphash.MakeSeed()

// keeper writes down what makes a state, with ids in the order in which they come.
type keeper struct {
	buffer []byte
	names  [128]id
	known  int
}

func (k *keeper) put(values ...int8) {
	for _, v := range values {
		k.buffer = append(k.buffer, byte(v)) //nolint:gosec // a bit pattern
	}
}

func (k *keeper) id(ids ...id) {
	for _, one := range ids {
		at := 0
		if one != 0 {
			at = slices.Index(k.names[:k.known], one) + 1
			if at == 0 {
				k.names[k.known] = one
				k.known++
				at = k.known
			}
		}
		k.buffer = append(k.buffer, byte(at)) //nolint:gosec // at most 128
	}
}

func (k *keeper) text(s string) { k.buffer = append(append(k.buffer, s...), 0) }

func flags(set ...bool) int8 {
	var bits int8
	for i, is := range set {
		bits |= int8(yes(is)) << i
	}
	return bits
}

func (k *keeper) record(r *savedRecord, nodes int8) {
	k.put(r.size, r.w, r.epoch, r.target, r.master, r.recordEpoch, r.startOffset, r.leaderNode, r.effective, r.from, r.to, flags(r.sleep, r.kept, r.changed, r.routed))
	k.id(r.history, r.leader.pod, r.leader.run, r.fromPod)
	for _, m := range r.members[:nodes] {
		k.id(m.pod, m.run)
	}
}

func (k *keeper) labels(list []label) {
	for _, l := range list {
		k.put(l.epoch, int8(l.standing)) //nolint:gosec // a few
		k.id(l.history)
	}
}

func (k *keeper) operator(o *operator, u *universe) {
	k.put(flags(o.running), int8(o.known.frozen)) //nolint:gosec // a few
	for _, one := range o.known.servers {
		k.id(one.pod, one.outranked, one.told)
		k.put(int8(one.heard), flags(one.mute)) //nolint:gosec // a few
	}
	if !o.running {
		return
	}
	k.put(flags(o.now.record.version == u.record.version))
	k.record(&o.read.record, u.nodes)
	k.labels(o.read.stamps[:u.nodes])
	k.id(o.read.pods[:u.nodes]...)
	k.id(o.closed...)
	k.put(int8(len(o.replies))) //nolint:gosec // a few
	for i := range o.replies {
		k.reply(&o.replies[i])
	}
}

func (k *keeper) reply(r *reply) {
	v := &r.sight
	k.put(flags(r.failed, v.master, v.linked, v.pinned), int8(v.answer), v.formerAt, v.offset, int8(v.keys), v.minReplicas) //nolint:gosec // a few
	if v.run != 0 {
		k.id(v.run, v.follows, v.history, v.former)
		k.id(v.attached[:]...)
	}
}

// step that led to a state, and from where.
type origin struct {
	from int32
	turn turn
}

// search is breadth first, one depth after the other, by as many workers as there are cores.
type search struct {
	mu      sync.Mutex
	seen    map[uint64]struct{}
	origins []origin
	limit   int
	broken  string
	at      int32
}

type found struct {
	state *state
	place int32
}

// explore all that may follow, and give the number of states and the depth.
func (x *search) explore(first *state) (states, depth int) {
	x.seen = map[uint64]struct{}{first.key(): {}}
	x.origins = []origin{{from: -1}}
	frontier := []found{{first, 0}}
	for len(frontier) > 0 && x.broken == "" && (x.limit == 0 || len(x.origins) < x.limit) {
		frontier = x.deepen(frontier)
		depth++
	}
	return len(x.origins), depth
}

func (x *search) deepen(frontier []found) []found {
	workers := runtime.GOMAXPROCS(0)
	parts := make([][]found, workers)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i < len(frontier) && x.broken == ""; i += workers {
				parts[w] = x.expand(frontier[i], parts[w])
				frontier[i].state = nil
			}
		})
	}
	all.Wait()
	return slices.Concat(parts...)
}

func (x *search) expand(from found, next []found) []found {
	for _, e := range from.state.turns() {
		s := from.state.after(e)
		key := s.key()
		x.mu.Lock()
		if _, known := x.seen[key]; !known {
			x.seen[key] = struct{}{}
			x.origins = append(x.origins, origin{from.place, e})
			next = append(next, found{s, int32(len(x.origins) - 1)}) //nolint:gosec // far below
			if s.universe.broken != "" && x.broken == "" {
				x.broken, x.at = s.universe.broken, int32(len(x.origins)-1) //nolint:gosec // far below
			}
		}
		x.mu.Unlock()
	}
	return next
}

// trace tells in words how a state was reached.
func (x *search) trace(first *state, at int32) string {
	var way []turn
	for ; x.origins[at].from >= 0; at = x.origins[at].from {
		way = append(way, x.origins[at].turn)
	}
	slices.Reverse(way)
	var words strings.Builder
	s := first
	for i, e := range way {
		fmt.Fprintf(&words, "%3d. %s\n", i+1, s.tell(e))
		s = s.after(e)
	}
	return words.String()
}

// tell an event in words.
func (s *state) tell(e turn) string {
	u := s.universe
	switch e.what {
	case stepPass:
		o, who := &s.leader, "the operator"
		if e.a == 1 {
			o, who = &s.sleeper, "the operator that was stopped"
		}
		text := fmt.Sprintf("%s %s node %d", who, effectNames[o.next.effect], o.next.node)
		c := s.after(e)
		if o := &c.leader; e.a == 0 && !o.running {
			text += ", and ends its pass"
		}
		return text
	case cutOff, healed:
		return fmt.Sprintf("%s %d and %d", happenings[e.what], e.a, e.b)
	case elapsed, lowered, backedUp, restored, beginPass, crashed, suspended:
		return happenings[e.what]
	}
	return fmt.Sprintf("%s node %d", happenings[e.what], u.procs[e.a].node)
}

// formed is a set of three whose operator has come to rest, with one confirmed write.
func formed(t *testing.T, nodes, w int8, storage bool) *universe {
	t.Helper()
	u := newUniverse(nodes, w, storage)
	for range 200 {
		if u.calm() == rest {
			return u
		}
	}
	t.Fatal("it is not formed")
	return nil
}

// calm passes once over a universe in which nothing else happens, and lets replicas catch up.
func (u *universe) calm() verb {
	did, _, _ := pass(u.read(), recollection{}, u.answer)
	for range 3 {
		u.catchUp()
	}
	return did.do
}

// catchUp lets each replica hear one operation of its master.
func (u *universe) catchUp() {
	for i := range u.procs {
		if p := &u.procs[i]; p.alive && !p.master && p.follows != 0 {
			u.sync(p)
		}
	}
}

// A search is exhaustive unless it has a limit: then it ends at the depth where it has so many
// states. LONG=1 searches further, by the millions.
func TestEveryOrderKeepsWhatIsConfirmed(t *testing.T) {
	usual := debug.SetGCPercent(400)
	t.Cleanup(func() { debug.SetGCPercent(usual) })
	formed := func(w int8, storage bool) func(*testing.T) *universe {
		return func(t *testing.T) *universe {
			u := formed(t, 3, w, storage)
			u.happen(turn{what: backedUp})
			return u
		}
	}
	started := func(*testing.T) *universe { return newUniverse(3, 1, true) }
	long := os.Getenv("LONG") != ""
	for _, c := range []struct {
		name  string
		given func(*testing.T) *universe
		left  budget
		limit int
		long  bool
	}{
		{"one fault and one crash", formed(1, true), budget{faults: 1, crashes: 1, writes: 1}, 0, false},
		{"one fault and one crash, without volumes", formed(1, false), budget{faults: 1, crashes: 1, writes: 1}, 0, false},
		{"one fault and one crash, with two confirmations", formed(2, true), budget{faults: 1, crashes: 1, writes: 1}, 0, false},
		{"one fault and one crash while it is formed", started, budget{faults: 1, crashes: 1, writes: 1}, 150_000, false},
		{"an operator that is stopped and wakes", formed(1, true), budget{crashes: 1, suspends: 1, writes: 1}, 0, false},
		{"two faults, a crash and a stopped operator", formed(1, true), budget{faults: 2, crashes: 1, suspends: 1, writes: 1}, 150_000, false},
		{"two faults", formed(1, true), budget{faults: 2, writes: 1}, 0, true},
		{"one fault and a stopped operator", formed(1, true), budget{faults: 1, suspends: 1, writes: 1}, 0, true},
		{"four faults, a crash and a stopped operator", formed(1, true), budget{faults: 4, crashes: 1, suspends: 1, writes: 2}, 12_000_000, true},
	} {
		if c.long && !long || testing.Short() && c.limit > 0 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			began := time.Now()
			first := &state{universe: c.given(t), left: c.left, coarse: true}
			x := &search{limit: c.limit}
			states, depth := x.explore(first)
			t.Logf("%d states, depth %d, %s", states, depth, time.Since(began).Round(time.Second))
			if x.broken != "" {
				t.Errorf("%s, after:\n%s", x.broken, x.trace(first, x.at))
			}
		})
	}
}
