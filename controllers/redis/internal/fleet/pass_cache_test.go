package fleet

import (
	"hash/maphash"
)

// passCache keeps passes that were played not long ago. Most of what happens in a model does not concern a
// pass that has started: with other names, the same pass was played before.
type passCache struct {
	recent []cachedPass
	keeper keyWriter
}

// cachedPass is the result of a pass, whose ids are those of its key.
type cachedPass struct {
	key uint64
	passResult
}

// recentPasses are some 100 MB; twice as many save less than they cost.
const recentPasses = 1 << 18

func newPassCache() *passCache { return &passCache{recent: make([]cachedPass, recentPasses)} }

// replay plays a pass, or says what came of the same one.
func (p *passCache) replay(o *operator, nodes int8, more func(request) bool) passResult {
	if p == nil {
		return o.replay(more)
	}
	for {
		result, known := p.lookup(o, nodes)
		if !known {
			result = o.replay(func(q request) bool {
				p.store(o, nodes, passResult{pending: true, next: q})
				return more(q)
			})
			if !result.pending {
				p.store(o, nodes, result)
			}
			return result
		}
		if !result.pending || !more(result.next) {
			return result
		}
	}
}

func (p *passCache) lookup(o *operator, nodes int8) (passResult, bool) {
	cached, key := p.place(o, nodes)
	if cached.key != key {
		return passResult{}, false
	}
	result := cached.passResult
	result.rename(func(i *id) { *i = p.keeper.original(*i) })
	result.next.record.version = o.read.record.version
	return result, true
}

func (p *passCache) store(o *operator, nodes int8, result passResult) {
	cached, key := p.place(o, nodes)
	result.rename(func(i *id) { *i = p.keeper.canonical(*i) })
	*cached = cachedPass{key, result}
}

// place of a pass, and its key.
func (p *passCache) place(o *operator, nodes int8) (*cachedPass, uint64) {
	k := &p.keeper
	k.buffer, k.known = k.buffer[:0], 0
	k.put(nodes)
	k.played(o, nodes)
	key := maphash.Bytes(seed, k.buffer)
	return &p.recent[key%recentPasses], key
}

// rename all that a played pass names.
func (p *passResult) rename(as func(*id)) {
	q := &p.next
	all := []*id{&q.pod, &q.run, &q.to, &q.login, &q.record.holder, &q.record.history, &q.record.former, &q.record.recordedMaster.pod,
		&q.record.recordedMaster.run, &q.record.fromPod, &q.record.loader.pod, &q.record.loader.run, &q.record.restoreHistory, &q.label.history,
		&p.memory.identity}
	for i := range mostNodes {
		all = append(all, &q.admits[i], &q.record.members[i].pod, &q.record.members[i].run)
	}
	for i := range p.memory.servers {
		s := &p.memory.servers[i]
		all = append(all, &s.pod, &s.othersKilled, &s.knowsLogin)
	}
	for _, named := range all {
		as(named)
	}
}
