package fleet

import (
	"fmt"
	"strings"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// The model is Redis, its pods and the API server where a failover depends on them: small,
// exact, and a value, so that a search continues from each state in several ways. What
// redis-server does is taken from replication.c of Redis 7 and 8.

// mostNodes that a model has.
const mostNodes = 5

// id names a pod, a process or a history. 0 is none.
type id int16

// process is a redis-server together with its file.
type process struct {
	node     int8
	pod, run id

	alive, hung  bool
	busy         bool // with a script, and answers nothing but BUSY
	master       bool
	follows      id   // pod of its master, 0 when it is fenced
	login        id   // process that it logs in there as
	linked       bool // and hears it
	longUnlinked bool // and has not for longer than anything is waited for
	pinned       bool // has a backlog: its history stays when a replica attaches
	history      id
	loaded       id     // history of the snapshot that it started from, while it has the data of that
	former       id     // history before it became a master, or its master did
	formerAt     int8   // offset that it has of that
	start        int8   // length of the data that it started with: its offset does not count that
	data         string // operations, in order: letters are writes
	minReplicas  int8
	admits       [mostNodes]id // processes that it lets in as replicas, by node
	damaged      bool          // its file has lost some of its end, but not all
	held         modelCommand  // that came while it hung
	servesStale  bool          // answers reads while it does not hear its master
}

// bornServing is true for servers that answer reads from their start.
var bornServing = !strings.Contains(config.Spec{}.RedisConf(config.Credentials{}, config.Settings{}), `replica-serve-stale-data "no"`)

// emptied is the operation that deletes all keys.
const emptied = "-"

func (p *process) offset() int8 { return int8(len(p.data)) - p.start } //nolint:gosec // a few

// isStuck reports whether a process neither hears its replicas nor its master.
func (p *process) isStuck() bool { return p.hung || p.busy }

func (p *process) keys() int { return len(p.data) - 1 - strings.LastIndex(p.data, emptied) }

// reference is a process of the record.
type reference struct{ pod, run id }

// savedRecord is the Redis object, where a failover depends on it.
type savedRecord struct {
	version int16
	size, w int8 // of the spec
	sleep   bool // hibernate

	holder                id   // the operator in charge
	epoch, target, master int8 // target and master are nodes, -1 for none
	dataset               int8 // epoch in which the data set started

	bootstrap      bool // of the spec: there is a backup to start with
	restore        int8 // phase of its loading: none, fetching, loading, completed
	loader         reference
	restoreHistory id

	hasReplication     bool // is there a replication part?
	recordEpoch        int8
	history            id
	former             id
	startOffset        int8
	recordedMasterNode int8
	recordedMaster     reference
	members            [mostNodes]reference
	effective          int8

	changed  bool // is there a last failover?
	cutOff   int8 // its epoch, when replicas did not hear their master; else 0
	from, to int8
	fromPod  id
	routed   bool
}

// modelStamp is the stamp of a node's volume.
type modelStamp struct {
	epoch    int8
	history  id
	standing topology.Standing
}

// model is everything but the operators.
type model struct {
	storage bool
	// snapshots says that servers start from snapshots, which name their history. Else they start from append-only files.
	snapshots bool
	nodes     int8
	procs     []process     // one for each pod, then those that live on without
	pods      [mostNodes]id // by node
	record    savedRecord
	stamps    [mostNodes]modelStamp
	service   int8    // node that clients are led to
	cuts      uint32  // pairs that cannot reach each other
	source    process // that serves a backup, while it has a pod
	reader    reader  // that makes one
	// asksNoGhost says that the operator has no connection left to a master without a pod. Otherwise it has one for as long
	// as that lives.
	asksNoGhost bool
	rests       bool // nothing is done to the set that its record does not show

	backup       savedRecord // of the API server, with its stamps
	backupStamps [mostNodes]modelStamp
	backedUp     bool

	ids       id
	restored  bool   // there was a master with the backup's data
	writes    int8   // that were made
	readers   int8   // that have started
	confirmed string // operations that WAIT has confirmed
	violation string // of a promise, in words
}

// operatorSide is the operator's place among the nodes.
const operatorSide = mostNodes

func cutBit(a, b int8) uint32 { return 1 << cutIndex(a, b) }

func cutIndex(a, b int8) int8 {
	if a > b {
		a, b = b, a
	}
	return b*(b-1)/2 + a
}

func (m *model) canReach(a, b int8) bool { return m.cuts&cutBit(a, b) == 0 }

func (m *model) next() id { m.ids++; return m.ids }

func (m *model) clone() *model {
	c := *m
	c.procs = append(make([]process, 0, len(m.procs)+1), m.procs...)
	return &c
}

// processOf gives the process of a pod.
func (m *model) processOf(pod id) *process {
	for i := range m.procs {
		if pod != 0 && m.procs[i].pod == pod {
			return &m.procs[i]
		}
	}
	if pod != 0 && m.source.pod == pod {
		return &m.source
	}
	return nil
}

// attachedReplicas gives the replicas that hear the process.
func (m *model) attachedReplicas(p *process) []*process {
	var list []*process
	for i := range m.procs {
		if f := &m.procs[i]; f.alive && f.linked && f.follows == p.pod {
			list = append(list, f)
		}
	}
	return list
}

func (m *model) unlink(p *process) {
	for _, f := range m.attachedReplicas(p) {
		f.linked = false
	}
	m.dropReader(p)
}

func (m *model) violate(format string, args ...any) {
	if m.violation == "" {
		m.violation = fmt.Sprintf(format, args...)
	}
}

// newModel has pods whose servers have just started, and a new object.
func newModel(nodes, w int8, storage bool) *model {
	u := &model{storage: storage, nodes: nodes, service: -1}
	u.record = savedRecord{size: nodes, w: w, target: -1, master: -1, from: -1, to: -1}
	for n := range nodes {
		u.procs = append(u.procs, process{node: n, pod: u.next()})
		u.pods[n] = u.procs[n].pod
		u.start(&u.procs[n])
	}
	return u
}

// start the server of a pod on its file: fenced, of no history that anybody knows.
func (m *model) start(p *process) {
	file := *p
	*p = process{node: p.node, pod: p.pod, run: m.next(), alive: true, history: m.next(), data: p.data, damaged: p.damaged,
		servesStale: bornServing}
	m.answersReads(p)
	p.start = int8(len(p.data)) //nolint:gosec // a few
	if m.snapshots && p.data != "" {
		p.history, p.start, p.loaded = file.history, file.start, file.history
	}
}

// answersReads of applications: a process may do so once it has had its master's data.
func (m *model) answersReads(p *process) {
	if p.servesStale && !p.master && !p.pinned {
		m.violate("node %d answers reads, and has never been in sync", p.node)
	}
}

// kill a process: its file is what stays. The volume of one without a pod goes to the pod that
// waits for it.
func (m *model) kill(p *process) {
	m.unlink(p)
	if p.loaded != 0 { // its last snapshot is that which it started from
		p.history = p.loaded
	}
	if *p = (process{node: p.node, pod: p.pod, data: p.data, damaged: p.damaged, history: p.history, start: p.start}); !m.storage {
		p.data, p.damaged, p.history, p.start = "", false, 0, 0
	}
	if m.pods[p.node] == p.pod {
		return
	}
	if successor := m.processOf(m.pods[p.node]); successor != nil && m.storage {
		successor.data, successor.damaged, successor.history, successor.start = p.data, p.damaged, p.history, p.start
	}
	for i := range m.procs {
		if &m.procs[i] == p {
			m.procs = append(m.procs[:i], m.procs[i+1:]...)
			return
		}
	}
}

// replace the pod of a node; its process may live on.
func (m *model) replace(n int8, lives bool) {
	old := m.processOf(m.pods[n])
	made := process{node: n, pod: m.next()}
	if !lives || !old.alive {
		if old.alive {
			m.kill(old)
		}
		made.data, made.damaged, made.history, made.start = old.data, old.damaged, old.history, old.start
		*old = made
		m.pods[n] = made.pod
		return
	}
	m.pods[n] = made.pod
	ghost := *old
	*old = made
	m.procs = append(m.procs, ghost)
}

// canStart reports whether a node's server may start: its volume has one user.
func (m *model) canStart(n int8) bool {
	if p := m.processOf(m.pods[n]); p == nil || p.alive {
		return false
	}
	for i := range m.procs {
		if p := &m.procs[i]; m.storage && p.node == n && p.alive {
			return false
		}
	}
	return true
}

// write an operation at a master. WAIT says later whether it counts.
func (m *model) write(p *process, operation string) {
	p.data += operation
	p.loaded = 0
	m.writes++
}

// sync lets a replica reach its master, or hear the next operation.
func (m *model) sync(p *process) {
	master := m.processOf(p.follows)
	switch {
	case master == nil || !master.alive:
		p.linked = false
		return
	case p.linked:
		if len(p.data) < len(master.data) {
			p.data, p.loaded = master.data[:len(p.data)+1], 0
		}
	default:
		m.attach(p, master)
	}
	m.confirm(master)
}

func (m *model) attach(p, master *process) {
	if !p.isAdmitted(master) {
		return
	}
	if !master.pinned { // a new history, and nothing earlier counts
		master.pinned, master.history, master.former, master.formerAt = true, m.next(), 0, 0
	}
	switch {
	case p.pinned && p.history == master.history && p.offset() <= master.offset():
	case p.pinned && p.history == master.former && p.offset() <= master.formerAt:
		p.former, p.formerAt, p.history = p.history, p.offset(), master.history
		m.unlink(p)
	default:
		m.overwritten(p, master.data)
		p.history, p.former, p.formerAt = master.history, 0, 0
		p.data, p.start, p.damaged, p.loaded = master.data, master.start, master.damaged, 0
		m.unlink(p)
	}
	p.linked, p.pinned, p.longUnlinked = true, true, false
}

// overwritten data must not be what alone holds a confirmed operation.
func (m *model) overwritten(p *process, by string) {
	for _, operation := range m.confirmed {
		if !strings.ContainsRune(p.data, operation) || strings.ContainsRune(by, operation) {
			continue
		}
		if holders := m.holders(operation, func(o *process) bool { return o != p }); holders == 0 {
			m.violate("node %d alone held the confirmed write %q, and was overwritten", p.node, string(operation))
		}
	}
}

// holders counts the processes and files that have an operation.
func (m *model) holders(operation rune, counts func(*process) bool) int {
	n := 0
	for i := range m.procs {
		if p := &m.procs[i]; counts(p) && (p.alive || m.storage) && strings.ContainsRune(p.data, operation) {
			n++
		}
	}
	return n
}

// confirm what enough replicas of a master have, as WAIT does.
func (m *model) confirm(master *process) {
	if !master.master || master.isStuck() {
		return
	}
	heard := m.attachedReplicas(master)
	needed := int(max(1, m.record.w))
	for _, operation := range master.data[master.start:] {
		having := 0
		for _, f := range heard {
			having += boolToInt(!f.hung && strings.ContainsRune(f.data, operation))
		}
		m.checkReaderCounts(master, operation, having, needed)
		if having >= needed && !strings.ContainsRune(m.confirmed, operation) {
			m.confirmed += string(operation)
			m.oneConfirms(master, needed)
		}
	}
}

func (m *model) oneConfirms(master *process, needed int) {
	for i := range m.procs {
		if o := &m.procs[i]; o != master && o.alive && o.master && len(m.attachedReplicas(o)) >= needed {
			m.violate("nodes %d and %d both confirm writes", master.node, o.node)
		}
	}
}

// promoted must have all that was confirmed. A loss is forgiven when no living process that
// has been in sync and no file has it; nor can files say which of them lost its end.
// Where the record is of another master to come, an operator that was stopped has woken: no replica is led to
// follow what it promotes, and the one that leads fences it.
func (m *model) promoted(p *process, forced bool) {
	if m.record.target >= 0 && m.record.target != p.node {
		return
	}
	m.startedWithBackup(p)
	var kept strings.Builder
	for _, operation := range m.confirmed {
		if strings.ContainsRune(p.data, operation) {
			kept.WriteRune(operation)
			continue
		}
		more := func(o *process) bool { return p.keys()+o.keys() > 0 }      // of two that are empty, none is
		podless := func(o *process) bool { return m.pods[o.node] != o.pod } // and ends before anybody can take its data over
		warm := m.holders(operation, func(o *process) bool { return more(o) && o.alive && o.pinned && !podless(o) })
		// Of files of one epoch, one with keys is believed before an empty one, which a lost disk leaves
		// as well: once keys were deleted, they do not show the latest.
		any := m.holders(operation, func(o *process) bool {
			reports := !strings.Contains(m.confirmed, emptied) || m.stamps[o.node].epoch > m.stamps[p.node].epoch
			return more(o) && (m.storage || !podless(o)) && reports
		})
		if !forced && (warm > 0 || any > 0 && !p.damaged) {
			m.violate("node %d was promoted without the confirmed write %q, which %d others have, %d of them alive", p.node, string(operation), any,
				warm)
		}
	}
	m.checkDataset(p, kept.Len())
	m.confirmed = kept.String()
}

// checkDataset checks that the record says so if confirmed writes are lost with a promotion. A file that lost its end, a snapshot
// of which a further one was lost with its disk, and a set that wakes on emptied disks do not show that there was more.
func (m *model) checkDataset(p *process, kept int) {
	lost := kept < len(m.confirmed) && !p.damaged && (p.data == "" || !m.snapshots)
	if lost && m.record.hasReplication && m.record.dataset < m.record.epoch {
		m.violate("node %d was promoted without confirmed writes, and the data set is still that of epoch %d", p.node, m.record.dataset)
	}
}

func boolToInt(is bool) int {
	if is {
		return 1
	}
	return 0
}
