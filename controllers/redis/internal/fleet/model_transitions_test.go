package fleet

// What happens in a model without the operator's doing, and the operator's own next step.

type action uint8

const (
	none              action = iota
	wrote                    // an application, at a master
	keysDeleted              // an application deletes all keys
	caughtUp                 // a replica reaches its master, or hears the next operation
	booted                   // a server starts on its file
	startedTruncated         // on a file that lost its last operation
	startedOnSnapshot        // on a snapshot that names its history, and lacks the last operation
	startedEmpty             // on an empty one
	died
	deletedByForce // the pod; its process lives on
	ghostEnded     // a process without a pod
	stalled
	woke
	scriptStarted // that keeps a server busy
	scriptEnded
	cutOff  // two sides from each other
	healed  // so that they reach each other again
	elapsed // more time than anything is waited for
	lowered // W, in the spec
	backedUp
	restored    // the API server, from that
	sourceEnded // the server that serves a backup
	hibernated  // or the opposite
	recreated   // the object, under its name and over its volumes
	readerStarted
	readerAsked // a server for its role
	readerChose // a server that has what the master had
	readerRead  // the data of that
	readerEnded
	startPass
	startStale // on what the API server's cache had as the last pass started
	stepPass
	writeRefused // the operator's next write, by the API server
	replyLost    // the same, which was carried out
	crashed      // the operator, at this point of its pass
	suspended    // the operator: another takes over, and it wakes some time later
)

var actionWords = [...]string{"", "an application writes at", "an application deletes all keys at", "hears its master:", "starts:",
	"starts, and its file lost its last operation:",
	"starts on an older snapshot of its history:", "starts with an empty disk:", "dies:", "loses its pod by force, and lives on:",
	"ends without a pod:", "hangs:", "continues after hanging:", "becomes busy with a script:", "has done with its script:",
	"cut off from each other:",
	"reach each other again:", "time goes by", "the spec's W is lowered to 1", "the API server is backed up",
	"the API server is restored from its backup",
	"the server of the backup ends",
	"spec.hibernate changes", "the object is recreated over its volumes",
	"a backup starts", "the backup asks", "the backup waits for and chooses", "the backup reads", "the backup has read all, and ends",
	"the operator starts a pass", "the operator starts a pass on what it read for the last one", "the operator",
	"the API server refuses this:", "the operator gets no reply to this:", "the operator dies",
	"the operator is stopped, and another takes over"}

// transition is one thing that may happen next.
type transition struct {
	action action
	a, b   int8 // process by place, node, side or operator
}

// fault reports whether the transition counts against budget.faults.
func (t transition) fault() bool {
	switch t.action {
	case startedTruncated, startedOnSnapshot, startedEmpty, died, deletedByForce, stalled, cutOff, lowered, restored, sourceEnded,
		writeRefused, replyLost:
		return true
	}
	return false
}

// budget is how much may happen.
type budget struct {
	faults, crashes, suspends, stale, writes int8
	readers                                  int8 // backups
	drains, owner                            bool // an application may delete all keys; the object may be hibernated, or recreated
}

// enabledTransitions are all that may happen next; faults only while the budget has some.
func (m *model) enabledTransitions(b budget) []transition {
	list := make([]transition, 0, 32)
	add := func(what action, x, y int8) { list = append(list, transition{what, x, y}) }
	for i := range m.procs {
		p, at := &m.procs[i], int8(i) //nolint:gosec // a few
		if p.alive {
			m.ownTransitions(p, at, b, add)
			m.faultTransitions(p, at, b, add)
		} else if m.canStart(p.node) && !m.asleep() {
			m.startTransitions(p, at, b, add)
		}
	}
	m.partitionTransitions(b, add)
	m.userTransitions(b, add)
	m.readerTransitions(b, add)
	return list
}

// ownTransitions are what a process does by itself.
func (m *model) ownTransitions(p *process, at int8, b budget, add func(action, int8, int8)) {
	master := m.processOf(p.follows)
	switch {
	case p.hung:
		add(woke, at, 0)
	case p.busy:
		add(scriptEnded, at, 0)
	case p.master && m.writes < b.writes:
		add(wrote, at, 0)
		if b.drains && p.keys() > 0 {
			add(keysDeleted, at, 0)
		}
	case p.master || master == nil || !master.alive || master.isStuck() || !m.canReach(p.node, master.node):
	case p.linked && len(p.data) < len(master.data), !p.linked && p.isAdmitted(master):
		add(caughtUp, at, 0)
	}
	if m.pods[p.node] != p.pod {
		add(ghostEnded, at, 0)
	}
}

// isAdmitted reports whether a replica may attach to a server.
func (p *process) isAdmitted(m *process) bool {
	return p.login != 0 && m.admits[p.node] == p.login && (m.master || m.linked)
}

// faultTransitions are what is done to a process.
func (m *model) faultTransitions(p *process, at int8, b budget, add func(action, int8, int8)) {
	if b.faults == 0 {
		return
	}
	add(died, at, 0)
	if m.pods[p.node] == p.pod {
		add(deletedByForce, at, 0)
	}
	if !p.isStuck() {
		add(stalled, at, 0)
	}
}

// startTransitions are the ways in which a server may start.
func (m *model) startTransitions(p *process, at int8, b budget, add func(action, int8, int8)) {
	add(booted, at, 0)
	if !m.storage || b.faults == 0 || p.data == "" {
		return
	}
	add(startedEmpty, at, 0)
	if len(p.data) > 1 {
		add(startedTruncated, at, 0)
	}
	if p.offset() > 0 {
		add(startedOnSnapshot, at, 0)
	}
}

// userTransitions are what people do to the object, and to the API server.
func (m *model) userTransitions(b budget, add func(action, int8, int8)) {
	if b.owner && m.storage {
		add(hibernated, 0, 0)
		if m.record.hasReplication {
			add(recreated, 0, 0)
		}
	}
	if b.faults > 0 && m.record.w > 1 {
		add(lowered, 0, 0)
	}
	if b.faults > 0 && m.source.alive {
		add(sourceEnded, 0, 0)
	}
	if b.faults > 0 && m.backedUp && m.backup != m.record {
		add(restored, 0, 0)
	}
}

func (m *model) partitionTransitions(b budget, add func(action, int8, int8)) {
	for x := range m.nodes {
		for y := x + 1; y <= m.nodes; y++ {
			other := y
			if y == m.nodes {
				other = operatorSide
			}
			if !m.canReach(x, other) {
				add(healed, x, other)
			} else if b.faults > 0 {
				add(cutOff, x, other)
			}
		}
	}
}

// apply carries a transition out.
func (m *model) apply(t transition) {
	if processTransitions[t.action] != nil {
		processTransitions[t.action](m, &m.procs[t.a])
	} else {
		otherTransitions[t.action](m, t)
	}
}

// processTransitions are those of a process, which is given by its place.
var processTransitions = map[action]func(*model, *process){
	wrote:            func(u *model, p *process) { u.write(p, string(rune('a'+u.writes))) },
	keysDeleted:      func(u *model, p *process) { u.write(p, emptied) },
	caughtUp:         (*model).sync,
	booted:           (*model).start,
	startedTruncated: func(u *model, p *process) { p.data, p.damaged = p.data[:len(p.data)-1], true; u.start(p) },
	startedOnSnapshot: func(u *model, p *process) {
		history, start := p.history, p.start
		p.data, p.damaged = p.data[:len(p.data)-1], true
		u.start(p)
		p.history, p.start = history, start
	},
	startedEmpty:   func(u *model, p *process) { p.data = ""; u.start(p) },
	died:           (*model).kill,
	ghostEnded:     (*model).kill,
	deletedByForce: func(u *model, p *process) { u.replace(p.node, true) },
	stalled:        func(_ *model, p *process) { p.hung = true },
	woke:           (*model).wake,
	scriptStarted:  func(_ *model, p *process) { p.busy = true },
	scriptEnded:    func(_ *model, p *process) { p.busy = false },
}

// wake a process that hung: it does what it was asked to meanwhile, by whomever.
func (m *model) wake(p *process) {
	held := p.held
	p.hung, p.held = false, modelCommand{}
	if held.effect != lookEffect {
		m.execute(p, held)
	}
}

var otherTransitions = map[action]func(*model, transition){
	cutOff:     func(u *model, t transition) { u.cuts |= cutBit(t.a, t.b) },
	healed:     func(u *model, t transition) { u.cuts &^= cutBit(t.a, t.b) },
	elapsed:    func(u *model, _ transition) { u.elapse() },
	lowered:    func(u *model, _ transition) { u.record.w, u.record.version = 1, u.record.version+1 },
	hibernated: func(u *model, _ transition) { u.record.sleep, u.record.version = !u.record.sleep, u.record.version+1 },
	recreated:  func(u *model, _ transition) { u.recreate() },
	backedUp:   func(u *model, _ transition) { u.backup, u.backupStamps, u.backedUp = u.record, u.stamps, true },
	restored:   func(u *model, _ transition) { u.restore() },

	sourceEnded: func(u *model, _ transition) { u.endSource() },

	readerStarted: func(u *model, _ transition) { u.startReader() },
	readerAsked:   func(u *model, t transition) { u.askForReader(t.a) },
	readerChose:   func(u *model, t transition) { u.reader.chosen = t.a },
	readerRead:    func(u *model, _ transition) { u.readForReader() },
	readerEnded:   func(u *model, _ transition) { u.reader = reader{} },
}

// restore the API server's part from its backup, under versions that are new.
func (m *model) restore() {
	version := m.record.version
	m.record, m.stamps, m.backedUp = m.backup, m.backupStamps, false
	m.record.version = version + 1
}

func (m *model) asleep() bool { return m.record.sleep && !m.record.hasReplication }

// recreate the object: its pods go, and new ones come to the volumes.
func (m *model) recreate() {
	version := m.record.version
	m.record = savedRecord{version: version + 1, size: m.record.size, w: m.record.w, bootstrap: m.record.bootstrap, target: -1, master: -1,
		from: -1, to: -1}
	for n := range m.nodes {
		for i := len(m.procs) - 1; i >= 0; i-- {
			if p := &m.procs[i]; p.node == n && p.alive {
				m.kill(p)
			}
		}
		m.replace(n, false)
	}
	m.backedUp = false
}

// elapse so much time that a link which carries nothing is down.
func (m *model) elapse() {
	for i := range m.procs {
		p := &m.procs[i]
		master := m.processOf(p.follows)
		p.longUnlinked = p.longUnlinked || p.alive && master != nil && master.alive && !master.hung && !m.canReach(p.node, master.node)
		if p.linked && (p.isStuck() || master == nil || master.isStuck() || !m.canReach(p.node, master.node)) {
			p.linked = false
		}
	}
}

// isIndependent reports whether a transition and the operator's next effect touch nothing that is the
// other's, nor can lead to what does.
func (m *model) isIndependent(t transition, q request) bool {
	if t.action == restored || t.action == lowered || q.effect == lookEffect || q.effect == removeEffect {
		return false
	}
	if q.effect >= saveEffect {
		return true
	}
	x := m.processOf(q.pod)
	if x == nil {
		return true
	}
	switch t.action {
	case cutOff, healed:
		return t.a != x.node && t.b != x.node
	case sourceEnded:
		return x != &m.source && x.follows != m.source.pod && q.to != m.source.pod
	case readerStarted, readerAsked, readerChose, readerRead, readerEnded:
		return m.isReaderIndependent(t, q, x)
	}
	return isApart(&m.procs[t.a], x, q)
}

// isApart reports whether a process has nothing to do with a command to another.
func isApart(p, x *process, q request) bool {
	return p.node != x.node && p.follows != x.pod && x.follows != p.pod && p.pod != q.to
}
