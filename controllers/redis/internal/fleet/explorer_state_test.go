package fleet

import (
	"fmt"
	"slices"
)

// operator is one process of ours, and how far its pass is.
type operator struct {
	memory  operatorMemory
	running bool
	read    reading // as the pass started
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
	earlier      reading // of the API server, as the last pass started, while one may be stale
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
		switch { // what the API server reported of its change is known to the pass
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
// The same holds for one that was stopped, and may continue at any time.
func (s *state) transitions() []transition {
	list := s.model.enabledTransitions(s.left)
	if s.leader.running {
		list = slices.DeleteFunc(list, func(enabled transition) bool {
			return s.model.isIndependent(enabled, s.leader.next) && (!s.hasSuspended || s.model.isIndependent(enabled, s.suspended.next))
		})
		list = append(list, transition{action: stepPass})
		if q := s.leader.next.effect; s.left.faults > 0 && (q == saveEffect || q == stampEffect) {
			list = append(list, transition{action: writeRefused}, transition{action: replyLost})
		}
	} else {
		list = append(list, transition{action: startPass}, transition{action: elapsed})
		if s.left.stale > 0 && s.earlier.nodes > 0 && s.stale() != s.model.read() {
			list = append(list, transition{action: startStale})
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
	started := after.action == startPass || after.action == startStale
	running := s.leader.running && s.leader.next.effect != lookEffect
	if s.left.crashes > 0 && after.action == stepPass && (running || !s.leader.running) {
		list = append(list, transition{action: crashed})
	}
	if s.left.suspends > 0 && (running || s.leader.running && s.leader.next.redial) && (after.action == stepPass || started) {
		list = append(list, transition{action: suspended})
	}
	if s.left.suspends > 0 && started {
		list = append(list, transition{action: suspended, a: atStart})
	}
	return list
}

// atStart of its pass is the operator stopped, before it has looked at a server.
const atStart = 1

// successor is the state that a transition leads to.
func (s *state) successor(e transition) *state {
	c := s.clone()
	c.left.faults -= int8(boolToInt(e.fault()))
	c.left.crashes -= int8(boolToInt(e.action == crashed))
	c.left.suspends -= int8(boolToInt(e.action == suspended))
	switch e.action {
	case startPass, startStale:
		read := c.model.read()
		if e.action == startStale {
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
		if e.a == atStart {
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

// newState is a state in which an operator starts.
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
func (o *operatorMemory) age(u *model) {
	for i := range o.servers {
		p := u.processOf(o.servers[i].pod)
		if heard := p != nil && p.alive && !p.hung && u.canReach(p.node, operatorSide); !heard && o.servers[i].heard == justNow {
			o.servers[i].heard = longAgo
		}
		if p == nil || !p.linked { // its login has led nowhere
			o.servers[i].knowsLogin = 0
		}
	}
	if o.fenced == justNow {
		o.fenced = longAgo
	}
	if o.cutOff == justNow {
		o.cutOff = longAgo
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
	continues := func(q request) bool {
		if !idle || !s.changesNothing(q) {
			return false
		}
		o.next = q
		s.answer(o, o == &s.suspended, stepPass)
		return true
	}
	p := s.passes.replay(o, s.model.nodes, continues)
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

// describe puts a transition into words.
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
	case elapsed, lowered, backedUp, restored, sourceEnded, startPass, startStale, crashed, suspended, readerStarted, readerEnded:
		return actionWords[e.action]
	}
	if e.action == readerAsked || e.action == readerChose || e.action == readerRead {
		return fmt.Sprintf("%s node %d", actionWords[e.action], e.a)
	}
	return fmt.Sprintf("%s node %d", actionWords[e.action], u.procs[e.a].node)
}
