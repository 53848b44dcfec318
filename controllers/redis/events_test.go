package redis

// What happens in a model without the operator's doing, and the operator's own next step.

type happening uint8

const (
	none        happening = iota
	wrote                 // an application, at a master
	drained               // an application deletes all keys
	caughtUp              // a replica reaches its master, or hears the next operation
	booted                // a server starts on its file
	startedLess           // on a file that lost its last operation
	startedBack           // on a snapshot that names its history, and lacks the last operation
	startedNew            // on an empty one
	died
	deletedByForce // the pod; its process lives on
	ended          // a process without a pod
	stalled
	woke
	cutOff  // two sides from each other
	healed  // so that they reach each other again
	elapsed // more time than anything is waited for
	lowered // W, in the spec
	backedUp
	restored   // the API server, from that
	hibernated // or the opposite
	recreated  // the object, under its name and over its volumes
	beginPass
	beginStale // on what the API server's cache had as the last pass began
	stepPass
	crashed   // the operator, at this point of its pass
	suspended // the operator: another takes over, and it wakes some time later
)

var happenings = [...]string{"", "an application writes at", "an application deletes all keys at", "hears its master:", "starts:", "starts, and its file lost its last operation:",
	"starts on an older snapshot of its history:", "starts with an empty disk:", "dies:", "loses its pod by force, and lives on:", "ends without a pod:", "hangs:", "goes on after hanging:", "cut off from each other:",
	"reach each other again:", "time goes by", "the spec's W is lowered to 1", "the API server is backed up", "the API server is restored from its backup",
	"spec.hibernate changes", "the object is made anew over its volumes",
	"the operator begins a pass", "the operator begins a pass on what it read for the last one", "the operator", "the operator dies", "the operator is stopped, and another takes over"}

// turn is one thing that may happen next.
type turn struct {
	what happening
	a, b int8 // process by place, node, side or operator
}

// fault reports whether the turn is charged to the faults.
func (t turn) fault() bool {
	switch t.what {
	case startedLess, startedBack, startedNew, died, deletedByForce, stalled, cutOff, lowered, restored:
		return true
	}
	return false
}

// budget is how much may happen.
type budget struct {
	faults, crashes, suspends, stale, writes int8
	drains, owner                            bool // an application may delete all keys; the object may be hibernated, or made anew
}

// possible are the turns in a universe, faults as far as there are any left.
func (u *universe) possible(b budget) []turn {
	list := make([]turn, 0, 32)
	add := func(what happening, x, y int8) { list = append(list, turn{what, x, y}) }
	for i := range u.procs {
		p, at := &u.procs[i], int8(i) //nolint:gosec // a few
		if p.alive {
			u.lives(p, at, b, add)
			u.suffers(p, at, b, add)
		} else if u.canStart(p.node) && !u.asleep() {
			u.starts(p, at, b, add)
		}
	}
	u.sides(b, add)
	u.edits(b, add)
	return list
}

// lives is what a process does by itself.
func (u *universe) lives(p *process, at int8, b budget, add func(happening, int8, int8)) {
	m := u.of(p.follows)
	switch {
	case p.hung:
		add(woke, at, 0)
	case p.master && u.writes < b.writes:
		add(wrote, at, 0)
		if b.drains && p.keys() > 0 {
			add(drained, at, 0)
		}
	case p.master || m == nil || !m.alive || m.hung || !u.reach(p.node, m.node):
	case p.linked && len(p.data) < len(m.data), !p.linked && p.isAdmitted(m):
		add(caughtUp, at, 0)
	}
	if u.pods[p.node] != p.pod {
		add(ended, at, 0)
	}
}

// isAdmitted reports whether a replica may attach to a server.
func (p *process) isAdmitted(m *process) bool {
	return p.login != 0 && m.admits[p.node] == p.login && (m.master || m.linked)
}

// suffers is what is done to a process.
func (u *universe) suffers(p *process, at int8, b budget, add func(happening, int8, int8)) {
	if b.faults == 0 {
		return
	}
	add(died, at, 0)
	if u.pods[p.node] == p.pod {
		add(deletedByForce, at, 0)
	}
	if !p.hung {
		add(stalled, at, 0)
	}
}

// starts is how a server may start.
func (u *universe) starts(p *process, at int8, b budget, add func(happening, int8, int8)) {
	add(booted, at, 0)
	if !u.storage || b.faults == 0 || p.data == "" {
		return
	}
	add(startedNew, at, 0)
	if len(p.data) > 1 {
		add(startedLess, at, 0)
	}
	if p.offset() > 0 {
		add(startedBack, at, 0)
	}
}

// edits are what people do to the object, and to the API server.
func (u *universe) edits(b budget, add func(happening, int8, int8)) {
	if b.owner && u.storage {
		add(hibernated, 0, 0)
		if u.record.kept {
			add(recreated, 0, 0)
		}
	}
	if b.faults > 0 && u.record.w > 1 {
		add(lowered, 0, 0)
	}
	if b.faults > 0 && u.backedUp && u.backup != u.record {
		add(restored, 0, 0)
	}
}

func (u *universe) sides(b budget, add func(happening, int8, int8)) {
	for x := range u.nodes {
		for y := x + 1; y <= u.nodes; y++ {
			other := y
			if y == u.nodes {
				other = operatorSide
			}
			if !u.reach(x, other) {
				add(healed, x, other)
			} else if b.faults > 0 {
				add(cutOff, x, other)
			}
		}
	}
}

// happen carries a turn out.
func (u *universe) happen(t turn) {
	if processTurns[t.what] != nil {
		processTurns[t.what](u, &u.procs[t.a])
	} else {
		otherTurns[t.what](u, t)
	}
}

// processTurns are of a process, by its place.
var processTurns = map[happening]func(*universe, *process){
	wrote:       func(u *universe, p *process) { u.write(p, string(rune('a'+u.writes))) },
	drained:     func(u *universe, p *process) { u.write(p, emptied) },
	caughtUp:    (*universe).sync,
	booted:      (*universe).start,
	startedLess: func(u *universe, p *process) { p.data, p.damaged = p.data[:len(p.data)-1], true; u.start(p) },
	startedBack: func(u *universe, p *process) {
		history, start := p.history, p.start
		p.data, p.damaged = p.data[:len(p.data)-1], true
		u.start(p)
		p.history, p.start = history, start
	},
	startedNew:     func(u *universe, p *process) { p.data = ""; u.start(p) },
	died:           (*universe).kill,
	ended:          (*universe).kill,
	deletedByForce: func(u *universe, p *process) { u.replace(p.node, true) },
	stalled:        func(_ *universe, p *process) { p.hung = true },
	woke:           (*universe).wake,
}

// wake a process that hung: it does what it was told meanwhile, by whomever.
func (u *universe) wake(p *process) {
	held := p.held
	p.hung, p.held = false, order{}
	if held.effect != lookEffect {
		u.obey(p, held)
	}
}

var otherTurns = map[happening]func(*universe, turn){
	cutOff:     func(u *universe, t turn) { u.cuts |= cutBit(t.a, t.b) },
	healed:     func(u *universe, t turn) { u.cuts &^= cutBit(t.a, t.b) },
	elapsed:    func(u *universe, _ turn) { u.elapse() },
	lowered:    func(u *universe, _ turn) { u.record.w, u.record.version = 1, u.record.version+1 },
	hibernated: func(u *universe, _ turn) { u.record.sleep, u.record.version = !u.record.sleep, u.record.version+1 },
	recreated:  func(u *universe, _ turn) { u.recreate() },
	backedUp:   func(u *universe, _ turn) { u.backup, u.backupStamps, u.backedUp = u.record, u.stamps, true },
	restored:   func(u *universe, _ turn) { u.restore() },
}

// restore the API server's part from its backup, under versions that are new.
func (u *universe) restore() {
	version := u.record.version
	u.record, u.stamps, u.backedUp = u.backup, u.backupStamps, false
	u.record.version = version + 1
}

func (u *universe) asleep() bool { return u.record.sleep && !u.record.kept }

// recreate the object: its pods go, and new ones come to the volumes.
func (u *universe) recreate() {
	version := u.record.version
	u.record = savedRecord{version: version + 1, size: u.record.size, w: u.record.w, target: -1, master: -1, from: -1, to: -1}
	for n := range u.nodes {
		for i := len(u.procs) - 1; i >= 0; i-- {
			if p := &u.procs[i]; p.node == n && p.alive {
				u.kill(p)
			}
		}
		u.replace(n, false)
	}
	u.backedUp = false
}

// elapse so much time that a link which carries nothing is down.
func (u *universe) elapse() {
	for i := range u.procs {
		p := &u.procs[i]
		m := u.of(p.follows)
		p.deaf = p.deaf || p.alive && m != nil && m.alive && !m.hung && !u.reach(p.node, m.node)
		if p.linked && (p.hung || m == nil || m.hung || !u.reach(p.node, m.node)) {
			p.linked = false
		}
	}
}

// apart reports whether a turn and the operator's next effect touch nothing that is the
// other's, nor can lead to what does.
func (u *universe) apart(t turn, q question) bool {
	if t.what == restored || t.what == lowered || q.effect == lookEffect || q.effect == removeEffect {
		return false
	}
	if q.effect >= saveEffect {
		return true
	}
	x := u.of(q.pod)
	if x == nil {
		return true
	}
	switch t.what {
	case cutOff, healed:
		return t.a != x.node && t.b != x.node
	}
	p := &u.procs[t.a]
	return p.node != x.node && p.follows != x.pod && x.follows != p.pod && p.pod != q.to
}
