package fleet

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/backup/source"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// A backup in the model: the runner of a RedisBackup, which reads a server as a replica does. It takes the steps that source.Redis
// takes, by the shipped rules of whom it may read. It may be killed at any time: that is as if none of its next steps comes.

// reader is one; without a pod there is none.
type reader struct {
	pod     id
	asked   int8                 // how many servers were asked
	said    [mostNodes]roleReply // by node
	barrier roleReply
	chosen  int8      // node, -1 for none
	from    reference // process that feeds it
	must    string    // operations that were confirmed when it started
	history id        // recorded when it started
	data    string    // that it acknowledges
}

// roleReply is what a process says of its role; without a run it did not answer.
type roleReply struct {
	run            id
	master, linked bool
	history        id
	offset         int8
}

// said is the shipped form of it.
func (r roleReply) said() source.Replication {
	return source.Replication{IsMaster: r.master, Linked: r.linked, ID: historyName(r.history), Offset: int64(r.offset)}
}

// roleOf asks the server in a node's pod. A backup reaches every server that answers anybody.
func (m *model) roleOf(node int8) roleReply {
	p := m.processOf(m.pods[node])
	if p == nil || !p.alive || p.isStuck() {
		return roleReply{}
	}
	return roleReply{run: p.run, master: p.master, linked: p.linked, history: p.history, offset: p.offset()}
}

// readerTransitions are a backup's next steps.
func (m *model) readerTransitions(b budget, add func(action, int8, int8)) {
	switch r := &m.reader; {
	case r.pod == 0 && m.readers < b.readers:
		add(readerStarted, 0, 0)
	case r.pod == 0:
	case r.from.pod != 0:
		add(readerEnded, 0, 0)
	case r.asked < m.nodes:
		add(readerAsked, r.asked, 0)
	case r.chosen >= 0:
		if p := m.processOf(m.pods[r.chosen]); p == nil || !p.isStuck() { // else it is waited for
			add(readerRead, r.chosen, 0)
		}
	default:
		for node := range m.nodes {
			now := m.roleOf(node) // over the connection that was opened before
			if before := r.said[node]; before.run != 0 && before.run == now.run && before.said().Follows(r.barrier.said()) &&
				now.said().Has(r.barrier.said()) {
				add(readerChose, node, 0)
			}
		}
	}
}

func (m *model) startReader() {
	m.readers++
	m.reader = reader{pod: m.next(), chosen: -1, must: m.confirmed, history: m.record.history}
}

// askForReader asks a server for its role. Once all were asked, there must be one master; that is read if no one follows it.
func (m *model) askForReader(node int8) {
	r := &m.reader
	r.said[node], r.asked = m.roleOf(node), node+1
	if r.asked < m.nodes {
		return
	}
	masters := 0
	for n, said := range r.said[:m.nodes] {
		if said.run != 0 && said.master {
			masters++
			r.barrier, r.chosen = said, int8(n) //nolint:gosec // a few
		}
	}
	follows := func(reply roleReply) bool { return reply.run != 0 && reply.said().Follows(r.barrier.said()) }
	switch {
	case masters != 1 || !r.barrier.said().IsOf(historyName(r.history)):
		*r = reader{}
	case slices.ContainsFunc(r.said[:m.nodes], follows):
		r.chosen = -1
	}
}

// readForReader has the chosen server give its data, as the function syncCommand of Redis' replication.c does for PSYNC. The
// connection leads to the process that was asked, and to no other.
func (m *model) readForReader() {
	r := &m.reader
	p, said := m.processOf(m.pods[r.chosen]), r.said[r.chosen]
	if p == nil || !p.alive || p.run != said.run || !p.master && !p.linked {
		*r = reader{}
		return
	}
	if !p.pinned { // a new history
		if m.record.recordedMaster == (reference{p.pod, p.run}) && m.record.history == p.history {
			m.violate("a backup changes the history of node %d, which is recorded", p.node)
		}
		p.pinned, p.history, p.former, p.formerAt = true, m.next(), 0, 0
	}
	if !said.said().MayGive(historyName(p.history), int64(p.offset()), r.barrier.said()) {
		*r = reader{}
		return
	}
	for _, operation := range r.must { // what all have lost since, a backup lacks as well
		if strings.ContainsRune(m.confirmed, operation) && !strings.ContainsRune(p.data, operation) {
			m.violate("a backup reads node %d, which lacks the write %q that was confirmed when it started", p.node, string(operation))
		}
	}
	*r = reader{pod: r.pod, chosen: r.chosen, asked: r.asked, from: reference{p.pod, p.run}}
	if readerListens() { // and acknowledges, as a replica does
		r.data = p.data
		m.confirm(p)
	}
}

// isReaderIndependent reports whether a step of a backup and a command to a process come to the same in any order. What is confirmed
// when it starts is compared only with what is still confirmed when it reads.
func (m *model) isReaderIndependent(t transition, q request, x *process) bool {
	switch t.action {
	case readerStarted:
		return true
	case readerEnded:
		return q.effect != expelEffect
	}
	p := m.processOf(m.pods[t.a])
	return p == nil || isApart(p, x, q)
}

// dropReader ends a backup that a process feeds, as that ends or continues with another history.
func (m *model) dropReader(p *process) {
	if r := &m.reader; r.from.pod != 0 && r.from.pod == p.pod {
		*r = reader{}
	}
}

// expelReader ends a backup as the operator ends any client that is logged in like one. It must not mean the backup.
func (m *model) expelReader(p *process, meant id) {
	if r := &m.reader; r.pod != 0 && meant == r.pod {
		m.violate("a backup of node %d is expelled", p.node)
	}
	m.dropReader(p)
}

// checkReaderCounts checks that a backup is not the one that an operation still needs: so many replicas have it.
func (m *model) checkReaderCounts(master *process, operation rune, replicas, needed int) {
	isNew := !strings.ContainsRune(m.confirmed, operation)
	if r := &m.reader; isNew && replicas == needed-1 && r.from.pod == master.pod && strings.ContainsRune(r.data, operation) {
		m.violate("the write %q at node %d is confirmed by a backup", string(operation), master.node)
	}
}

// checkRests checks that a set at rest stays as it is recorded, though another operator may take over.
func (m *model) checkRests(next savedRecord) {
	now := m.record
	if now.holder, now.version = next.holder, next.version; m.rests && now != next {
		m.violate("the record of a set at rest changes from %+v to %+v", now, next)
	}
}

// atRest is a set to which nothing is done but that it is written to, and backed up.
func atRest(nodes, w int8) func(*testing.T) *model {
	return func(t *testing.T) *model {
		u := formed(t, nodes, w, true)
		u.rests = true
		return u
	}
}

// oneBehind is a set of three with a confirmed write, which one replica has not heard yet.
func oneBehind(t *testing.T) *model {
	u := formed(t, 3, 1, true)
	u.applyAll(transition{action: wrote}, transition{action: caughtUp, a: 1})
	return u
}

// replicaAway is a set of two with a confirmed write, whose replica has died. A backup reads the master.
func replicaAway(t *testing.T) *model {
	u := formed(t, 2, 1, true)
	u.applyAll(transition{action: wrote}, transition{action: caughtUp, a: 1}, transition{action: died, a: 1})
	return u
}

// deposed is a master that hangs and was replaced. The next one has confirmed a write since.
func deposed(t *testing.T) *model {
	u := hungMaster(t)
	known := operatorMemory{identity: u.next()}
	for range 20 {
		if u.record.recordedMasterNode != 0 {
			break
		}
		_, _ = u.runPass(&known)
	}
	u.applyAll(transition{action: wrote, a: u.record.recordedMasterNode}, transition{action: caughtUp, a: 3 - u.record.recordedMasterNode})
	return u
}

// reader writes down a backup, and how many may yet come.
func (k *keyWriter) reader(r *reader, nodes, more int8) {
	k.put(more)
	if k.id(r.pod); r.pod == 0 {
		return
	}
	k.id(r.from.pod, r.from.run, r.history)
	k.put(r.asked, r.chosen)
	k.text(r.must)
	k.text(r.data)
	for _, said := range append(slices.Clone(r.said[:nodes]), r.barrier) {
		k.id(said.run, said.history)
		k.put(said.offset, flags(said.master, said.linked))
	}
}

// readerListens reports whether the shipped reader continues to listen after its dump, as a replica does. It does not if it says
// REPLCONF rdb-only before it asks: a server keeps such a client from being online (replicaPutOnline of Redis' replication.c).
var readerListens = sync.OnceValue(func() bool {
	dir, err := os.MkdirTemp("", "login")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for name, word := range map[string]string{"username": backup.RedisUser, "password": "secret", backup.SourceUIDKey: "uid"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(word), 0o600); err != nil {
			panic(err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer func() { _ = listener.Close() }()
	said := make(chan string)
	go func() { said <- listenToReader(listener) }()
	_, _ = source.Redis(quiet, backup.Source{UID: "uid", Endpoints: []string{listener.Addr().String()}}, dir, io.Discard)
	return !strings.Contains(<-said, "REPLCONF rdb-only 1")
})

// listenToReader plays a master up to PSYNC, and returns what it was sent.
func listenToReader(listener net.Listener) string {
	connection, err := listener.Accept()
	if err != nil {
		return ""
	}
	defer func() { _ = connection.Close() }()
	info := "redis_version:7.0.15\r\nloading:0\r\nrole:master\r\nmaster_replid:" + strings.Repeat("a", 40) + "\r\nmaster_repl_offset:1\r\n"
	var all []string
	for lines := bufio.NewScanner(connection); lines.Scan(); {
		word := lines.Text()
		if strings.HasPrefix(word, "*") || strings.HasPrefix(word, "$") {
			continue
		}
		switch all = append(all, word); word {
		case "AUTH", "REPLCONF":
			_, _ = io.WriteString(connection, "+OK\r\n")
		case "INFO":
			_, _ = fmt.Fprintf(connection, "$%d\r\n%s\r\n", len(info), info)
		case "PSYNC":
			return strings.Join(all, " ")
		}
	}
	return strings.Join(all, " ")
}
