package fleet

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
)

// key of a state: the same for all states that differ in names alone.
func (s *state) key() uint64 {
	k := keyWriter{buffer: make([]byte, 0, 512)}
	u := s.model
	for _, pod := range u.pods[:u.nodes] {
		k.id(pod)
	}
	for i := range u.procs {
		p := &u.procs[i]
		k.put(p.node, p.formerAt, p.start, p.minReplicas, flags(p.alive, p.hung, p.master, p.linked, p.pinned, p.damaged, p.servesStale,
			p.longUnlinked), flags(p.busy))
		k.id(p.pod, p.run, p.follows, p.login, p.history, p.former, p.loaded)
		k.id(p.admits[:u.nodes]...)
		k.text(p.data)
		if k.put(int8(p.held.effect)); p.held.effect != lookEffect { //nolint:gosec // a few
			k.put(p.held.w)
			k.id(p.held.to, p.held.login)
			k.id(p.held.admits[:u.nodes]...)
		}
	}
	if k.id(u.source.pod); u.source.pod != 0 {
		k.put(flags(u.source.alive, u.source.pinned))
		k.id(u.source.run, u.source.history)
		k.id(u.source.admits[:u.nodes]...)
	}
	k.put(flags(u.restored))
	k.reader(&u.reader, u.nodes, s.left.readers-u.readers)
	k.record(&u.record, u.nodes)
	k.labels(u.stamps[:u.nodes])
	k.put(u.service, u.writes, flags(u.backedUp), s.left.faults, s.left.crashes, s.left.suspends)
	if u.backedUp && s.left.faults > 0 { // else no one comes back to it
		k.record(&u.backup, u.nodes)
		k.labels(u.backupStamps[:u.nodes])
	}
	k.buffer = binary.LittleEndian.AppendUint32(k.buffer, u.cuts)
	k.text(u.confirmed)
	if k.put(s.left.stale); s.left.stale > 0 {
		k.read(&s.earlier, u.nodes)
	}
	k.operator(&s.leader, u)
	if s.hasSuspended {
		k.operator(&s.suspended, u)
	}
	return maphash.Bytes(seed, k.buffer)
}

var seed = maphash.MakeSeed()

// keyWriter writes down what makes a state, with ids in the order in which they come.
type keyWriter struct {
	buffer []byte
	names  [128]id
	known  int
}

func (k *keyWriter) put(values ...int8) {
	for _, v := range values {
		k.buffer = append(k.buffer, byte(v)) //nolint:gosec // a bit pattern
	}
}

func (k *keyWriter) id(ids ...id) {
	for _, named := range ids {
		k.buffer = append(k.buffer, byte(k.canonical(named))) //nolint:gosec // at most 128
	}
}

// canonical gives the place of an id among those that have come, from 1; 0 for none.
func (k *keyWriter) canonical(original id) id {
	if original == 0 {
		return 0
	}
	if at := slices.Index(k.names[:k.known], original); at >= 0 {
		return id(at + 1) //nolint:gosec // at most 128
	}
	k.names[k.known] = original
	k.known++
	return id(k.known) //nolint:gosec // at most 128
}

// original gives the id that has a place.
func (k *keyWriter) original(place id) id {
	if place == 0 {
		return 0
	}
	return k.names[place-1]
}

func (k *keyWriter) text(s string) { k.buffer = append(append(k.buffer, s...), 0) }

func flags(set ...bool) int8 {
	var bits int8
	for i, is := range set {
		bits |= int8(boolToInt(is)) << i
	}
	return bits
}

func (k *keyWriter) record(r *savedRecord, nodes int8) {
	k.put(r.size, r.w, r.epoch, r.dataset, r.target, r.master, r.recordEpoch, r.startOffset, r.recordedMasterNode, r.effective, r.from, r.to,
		r.cutOff, flags(r.sleep, r.hasReplication, r.changed, r.routed, r.bootstrap), r.restore)
	k.id(r.holder, r.history, r.former, r.recordedMaster.pod, r.recordedMaster.run, r.fromPod, r.loader.pod, r.loader.run, r.restoreHistory)
	for _, m := range r.members[:nodes] {
		k.id(m.pod, m.run)
	}
}

func (k *keyWriter) labels(list []modelStamp) {
	for _, l := range list {
		k.put(l.epoch, int8(l.standing)) //nolint:gosec // a few
		k.id(l.history)
	}
}

func (k *keyWriter) operator(o *operator, u *model) {
	k.put(flags(o.running))
	if !o.running {
		known := o.memory
		known.forget(u)
		k.recollection(&known)
		return
	}
	k.put(flags(o.now.record.version == u.record.version))
	k.id(o.closed...)
	k.played(o, u.nodes)
}

// forget what processes were sent that have ended: they are never met again.
func (o *operatorMemory) forget(u *model) {
	for i := range o.servers {
		server := &o.servers[i]
		if p := u.processOf(server.pod); p == nil || p.run != server.othersKilled {
			server.othersKilled = 0
		}
		if p := u.processOf(server.pod); p == nil || p.run != server.knowsLogin {
			server.knowsLogin = 0
		}
	}
}

func (k *keyWriter) recollection(r *operatorMemory) {
	k.id(r.identity)
	k.put(int8(r.fenced), int8(r.cutOff)) //nolint:gosec // a few
	for _, server := range r.servers {
		k.id(server.pod, server.othersKilled, server.knowsLogin)
		k.put(int8(server.heard), flags(server.mute)) //nolint:gosec // a few
	}
}

// played is all that a pass of the operator depends on.
func (k *keyWriter) played(o *operator, nodes int8) {
	k.recollection(&o.memory)
	k.read(&o.read, nodes)
	k.put(int8(len(o.replies))) //nolint:gosec // a few
	for i := range o.replies {
		k.reply(&o.replies[i])
	}
}

func (k *keyWriter) read(r *reading, nodes int8) {
	k.record(&r.record, nodes)
	k.labels(r.stamps[:nodes])
	k.id(r.pods[:nodes]...)
	k.id(r.source)
	k.put(flags(r.sourceEnded, r.storage, r.snapshots, r.asksNoGhost))
}

func (k *keyWriter) reply(r *reply) {
	v := &r.sight
	k.put(flags(r.failed, v.master, v.linked, v.pinned, v.servesStale, v.longUnlinked), int8(v.answer), v.formerAt, v.offset, int8(v.keys),
		v.minReplicas) //nolint:gosec // a few
	if v.run != 0 {
		k.id(v.run, v.follows, v.history, v.former)
		k.id(v.attached[:]...)
		k.id(v.reader)
		k.put(flags(v.listens))
	}
}
