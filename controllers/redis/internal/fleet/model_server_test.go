package fleet

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// effect of a pass.
type effect uint8

const (
	lookEffect effect = iota
	fenceEffect
	followEffect
	promoteEffect
	pinEffect
	admitEffect
	minEffect
	killOthersEffect
	serveEffect
	expelEffect
	saveEffect
	unchangedEffect
	stampsUnchangedEffect
	stampEffect
	removeEffect
	routeEffect
	createSourceEffect
	deleteSourceEffect
)

var effectNames = [...]string{"looks at", "fences", "leads to its master", "promotes", "pins the history of", "chooses who may follow",
	"sets W of", "ends others at", "has reads answered by", "disconnects every backup at", "saves the record",
	"asks for the record", "asks for the stamps", "stamps the volume of", "removes the pod of", "routes clients to",
	"has a backup served, next to",
	"ends the pod that serves a backup, next to"}

// modelCommand is a command to a server.
type modelCommand struct {
	effect effect
	to     id // pod to follow
	login  id // process to log in there as
	w      int8
	admits [mostNodes]id
	forced bool
}

// request is one effect, and what it is to do.
type request struct {
	modelCommand
	node   int8
	pod    id   // of the server
	run    id   // that its connection leads to, 0 before the first look
	redial bool // look over a new one
	ofBusy bool // it replaces a master that was seen to be busy, or the pod of a server that was
	record savedRecord
	label  modelStamp
}

// modelView is what a look shows.
type modelView struct {
	answer          wire.Answer
	run             id
	master, linked  bool
	longUnlinked    bool
	pinned          bool
	servesStale     bool
	follows         id
	history, former id
	formerAt        int8
	offset          int8
	keys            int16
	minReplicas     int8
	attached        [mostNodes + 1]id
	reader          id   // a backup that is attached
	listens         bool // after its dump, as a replica does
}

// reply to a request.
type reply struct {
	failed bool
	sight  modelView
}

var errNoAnswer = errors.New("no answer")

// answer a request as the servers and the API server do.
func (m *model) answer(q request, read *reading) reply {
	switch q.effect {
	case saveEffect:
		return reply{failed: !m.save(q.record, read)}
	case unchangedEffect:
		return reply{failed: read.record.version != m.record.version}
	case stampsUnchangedEffect:
		return reply{failed: read.stamps != m.stamps}
	case stampEffect:
		if m.stamps[q.node] != read.stamps[q.node] {
			return reply{failed: true}
		}
		m.stamps[q.node], read.stamps[q.node] = q.label, q.label
	case removeEffect:
		m.spareBusy(q)
		if m.pods[q.node] == q.pod {
			m.replace(q.node, false)
		}
	case routeEffect:
		m.service = q.node
	case createSourceEffect:
		m.createSource()
	case deleteSourceEffect:
		m.deleteSource(q.pod)
	default:
		return m.reply(q)
	}
	return reply{}
}

// reply as the pod's server does, or no one.
func (m *model) reply(q request) reply {
	p := m.processOf(q.pod)
	switch {
	case p == nil || !p.alive:
		return reply{failed: true, sight: modelView{answer: wire.Refused}}
	case !m.canReach(operatorSide, p.node), !q.redial && q.run != p.run:
		return reply{failed: true}
	case p.hung:
		if q.effect != lookEffect && q.effect != killOthersEffect && p.held.effect == lookEffect { // it arrives, no one knows when
			p.held = q.modelCommand
		}
		return reply{failed: true}
	case p.busy && q.effect == lookEffect:
		return reply{sight: modelView{answer: wire.ErrorReply, run: p.run}}
	case p.busy:
		return reply{failed: true}
	case q.effect == lookEffect:
		return reply{sight: m.see(p)}
	case q.effect == promoteEffect:
		m.spareBusy(q)
		m.promoted(p, q.forced)
	}
	m.execute(p, q.modelCommand)
	return reply{}
}

// spareBusy records a violation if a pass replaces what it has seen to be busy.
func (m *model) spareBusy(q request) {
	if q.ofBusy {
		m.violate("node %d %s although a server was seen to be busy", q.node, effectNames[q.effect])
	}
}

// save the record, unless somebody has changed it since it was read.
func (m *model) save(next savedRecord, read *reading) bool {
	next.size, next.w, next.sleep, next.version = read.record.size, read.record.w, read.record.sleep, read.record.version
	next.bootstrap = read.record.bootstrap
	if next == read.record { // nothing is written
		return read.record.version == m.record.version
	}
	if read.record.version != m.record.version {
		return false
	}
	if next.epoch < m.record.epoch || next.hasReplication && m.record.hasReplication && next.recordEpoch < m.record.recordEpoch {
		m.violate("the epoch fell from %d to %d", m.record.epoch, next.epoch)
	}
	m.checkRests(next)
	next.version++
	if p := m.processOf(next.recordedMaster.pod); next.recordedMaster != m.record.recordedMaster && p != nil && p.alive &&
		p.run == next.recordedMaster.run {
		m.promoted(p, false)
	}
	m.record, read.record = next, next
	for i := len(m.procs) - 1; m.asleep() && i >= 0; i-- { // the pods go
		m.kill(&m.procs[i])
	}
	return true
}

// execute carries out a command at a process.
func (m *model) execute(p *process, q modelCommand) {
	switch q.effect {
	case fenceEffect:
		p.master, p.follows, p.linked, p.longUnlinked = false, 0, false, false
	case followEffect:
		if p.master || p.follows != q.to {
			p.linked, p.longUnlinked = false, false
		}
		p.master, p.follows, p.login = false, q.to, q.login
	case promoteEffect:
		m.unlink(p)
		p.former, p.formerAt, p.history = p.history, p.offset(), m.next()
		p.master, p.follows, p.linked, p.longUnlinked, p.minReplicas = true, 0, false, false, q.w
	case pinEffect:
		if !p.pinned {
			p.pinned, p.history, p.former, p.formerAt = true, m.next(), 0, 0
		}
	case admitEffect:
		p.admits = q.admits
		for _, f := range m.attachedReplicas(p) {
			f.linked = p.admits[f.node] != 0 // by another password of a user that is let in, a connection stays
		}
	case minEffect:
		p.minReplicas = q.w
	case serveEffect:
		p.servesStale = true
		m.answersReads(p)
	case expelEffect:
		m.expelReader(p, q.to)
	}
}

func (m *model) see(p *process) modelView {
	s := modelView{answer: wire.Reached, run: p.run, master: p.master, linked: p.linked, longUnlinked: p.longUnlinked, pinned: p.pinned,
		servesStale: p.servesStale, follows: p.follows, history: p.history,
		former: p.former, formerAt: p.formerAt, offset: p.offset(), keys: int16(p.keys()), minReplicas: p.minReplicas} //nolint:gosec // a few
	for i, f := range m.attachedReplicas(p) {
		s.attached[i] = f.pod
	}
	if m.reader.from == (reference{p.pod, p.run}) {
		s.reader, s.listens = m.reader.pod, readerListens()
	}
	return s
}

// connection is one to a pod, and the process that it leads to.
type connection struct {
	pod, run id
	redial   bool
}

// modelServer is a server of a played pass.
type modelServer struct {
	*modelPass
	node int8
	pod  id
}

func (m modelServer) command(e effect, change func(*request)) error {
	q := request{modelCommand: modelCommand{effect: e, forced: m.forced}, node: m.node, pod: m.pod, run: m.connectionTo(m.pod).run}
	if change != nil {
		change(&q)
	}
	return m.send(q)
}

func (m modelServer) Look(context.Context) wire.View {
	over := m.connectionTo(m.pod)
	seen := m.ask(request{modelCommand: modelCommand{effect: lookEffect}, node: m.node, pod: m.pod, run: over.run, redial: over.redial}).sight
	if over.redial {
		over.run, over.redial = seen.run, false
	}
	switch seen.answer {
	case wire.Reached:
	case wire.ErrorReply:
		return wire.View{Answer: seen.answer, ErrorCode: wire.Busy}
	default:
		return wire.View{Answer: seen.answer}
	}
	keeps := m.fleet.Spec.UsesAppendOnly()
	v := wire.View{Answer: wire.Reached, RunID: runID(seen.run), Master: seen.master, LinkUp: seen.linked, ReplID: historyName(seen.history),
		Offset: int64(seen.offset), FormerReplID: historyName(seen.former), FormerOffset: int64(seen.formerAt), Pinned: seen.pinned,
		Keys: int64(seen.keys), MinReplicas: int32(seen.minReplicas), ServesStale: seen.servesStale, AOF: keeps, Rewritten: true}
	if seen.longUnlinked {
		v.LastIO = time.Hour
	}
	if !seen.master {
		v.MasterHost = wire.FenceHost
		if seen.follows != 0 {
			v.MasterHost = address(seen.follows)
		}
	}
	for _, pod := range seen.attached {
		if pod != 0 {
			v.Attached = append(v.Attached, address(pod))
		}
	}
	if seen.reader != 0 { // state=wait_bgsave, then send_bulk
		v.Attached = append(v.Attached, address(seen.reader))
		if !seen.listens {
			v.Copying = append(v.Copying, address(seen.reader))
		}
	}
	return v
}

// knockedServer says only whether it refuses.
type knockedServer struct{ modelServer }

func (k knockedServer) Look(ctx context.Context) wire.View {
	if v := k.modelServer.Look(ctx); v.Answer == wire.Refused {
		return v
	}
	return wire.View{}
}

func (m modelServer) Fence(context.Context) error { return m.command(fenceEffect, nil) }

func (m modelServer) Follow(_ context.Context, to string, as wire.Login) error {
	return m.command(followEffect, func(q *request) { q.to, q.login = idIn(to), m.owner(as) })
}

// owner of a login is a process that was seen, or is recorded.
func (m modelServer) owner(login wire.Login) id {
	known, masters := make([]cachev1alpha1.RedisProcess, 0, 2*mostNodes), make([]string, 0, 2*mostNodes+2)
	for _, member := range m.fleet.Nodes {
		known = append(known, member.Process())
	}
	if rep := m.fleet.Redis.Status.Replication; rep != nil {
		known = append(known, rep.SyncSet...)
		masters = append(masters, rep.Master.RunID)
	}
	if m.fleet.Source != nil {
		masters = append(masters, m.fleet.Source.Process().RunID)
	}
	for _, p := range known {
		masters = append(masters, p.RunID)
	}
	if made, is := madeLogins.Load(login); is {
		l := made.(madeLogin)
		isOwner := func(p cachev1alpha1.RedisProcess) bool { return p.Name == l.name && p.RunID == l.runID }
		if slices.ContainsFunc(known, isOwner) && slices.Contains(masters, l.master) {
			return idIn(l.runID)
		}
		return 0
	}
	for _, p := range known {
		for _, master := range masters {
			if m.fleet.Credentials.LoginOf(p, master) == login {
				madeLogins.Store(login, madeLogin{p.Name, p.RunID, master})
				return idIn(p.RunID)
			}
		}
	}
	return 0
}

// madeLogins are those whose owner was found: a search asks for each of them millions of times.
var madeLogins sync.Map

// madeLogin is what a login was made from.
type madeLogin struct{ name, runID, master string }

func (m modelServer) Promote(_ context.Context, w int32) error {
	return m.command(promoteEffect, func(q *request) {
		q.w = int8(w) //nolint:gosec // a few
		if rep := m.fleet.Redis.Status.Replication; rep != nil && m.fleet.Ghost == nil {
			q.ofBusy = m.fleet.RecordedMaster(rep.Master).IsBusy()
		}
	})
}

func (m modelServer) Pin(context.Context) error { return m.command(pinEffect, nil) }

func (m modelServer) Admit(_ context.Context, _ []string, admitted []wire.Login, _ bool) error {
	return m.command(admitEffect, func(q *request) {
		for _, login := range admitted {
			q.admits[config.Ordinal(login.User)] = m.owner(login)
		}
	})
}

func (m modelServer) SetMinReplicas(_ context.Context, w int32) error {
	return m.command(minEffect, func(q *request) { q.w = int8(w) }) //nolint:gosec // a few
}

func (m modelServer) KillOtherOperators(context.Context) error {
	return m.command(killOthersEffect, nil)
}

// KillUser says whom the plan wants to end; a backup that is well may end with that.
func (m modelServer) KillUser(_ context.Context, user string) error {
	if user != backup.RedisUser {
		return nil
	}
	return m.command(expelEffect, func(q *request) {
		for _, expelled := range m.expelled {
			q.to = max(q.to, idIn(expelled)) // the latest: a reader comes after the nodes
		}
	})
}

func (m modelServer) ServeStale(context.Context) error { return m.command(serveEffect, nil) }

func (modelServer) Pause(context.Context, time.Duration) error { return nil }

func (modelServer) Unpause(context.Context) error { return nil }

func (modelServer) KillClients(context.Context) error { return nil }

func (modelServer) SaveSnapshot(context.Context) error { return nil }

func (modelServer) SetPasswords(context.Context, string, ...string) error { return nil }

func (modelServer) DefineUser(context.Context, string, []string, ...string) error { return nil }

func (modelServer) Configure(context.Context, string, string) error { return nil }

func (modelServer) LoadCertificate(context.Context, wire.TLSFiles) (bool, error) { return true, nil }

func (m modelServer) Redial() { m.connectionTo(m.pod).redial = true }

func (modelServer) Close() {}
