package redis

import "hash/maphash"

// passCache keeps passes that were played not long ago. Most of what happens in a model does not concern a
// pass that has begun: with other names, the same pass was played before.
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

// replay plays a pass, or tells what came of the same one.
func (c *passCache) replay(o *operator, nodes int8, more func(request) bool) passResult {
	if c == nil {
		return o.replay(more)
	}
	for {
		p, known := c.lookup(o, nodes)
		if !known {
			p = o.replay(func(q request) bool {
				c.store(o, nodes, passResult{pending: true, next: q})
				return more(q)
			})
			if !p.pending {
				c.store(o, nodes, p)
			}
			return p
		}
		if !p.pending || !more(p.next) {
			return p
		}
	}
}

func (c *passCache) lookup(o *operator, nodes int8) (passResult, bool) {
	one, key := c.place(o, nodes)
	if one.key != key {
		return passResult{}, false
	}
	p := one.passResult
	p.rename(func(i *id) { *i = c.keeper.original(*i) })
	p.next.record.version = o.read.record.version
	return p, true
}

func (c *passCache) store(o *operator, nodes int8, p passResult) {
	one, key := c.place(o, nodes)
	p.rename(func(i *id) { *i = c.keeper.canonical(*i) })
	*one = cachedPass{key, p}
}

// place of a pass, and its key.
func (c *passCache) place(o *operator, nodes int8) (*cachedPass, uint64) {
	k := &c.keeper
	k.buffer, k.known = k.buffer[:0], 0
	k.put(nodes)
	k.played(o, nodes)
	key := maphash.Bytes(seed, k.buffer)
	return &c.recent[key%recentPasses], key
}

// rename all that a played pass names.
func (p *passResult) rename(as func(*id)) {
	q := &p.next
	all := []*id{&q.pod, &q.run, &q.to, &q.login, &q.record.holder, &q.record.history, &q.record.former, &q.record.recordedMaster.pod, &q.record.recordedMaster.run, &q.record.fromPod, &q.record.loader.pod, &q.record.loader.run, &q.record.restoreHistory, &q.label.history, &p.memory.identity}
	for i := range mostNodes {
		all = append(all, &q.admits[i], &q.record.members[i].pod, &q.record.members[i].run)
	}
	for i := range p.memory.servers {
		s := &p.memory.servers[i]
		all = append(all, &s.pod, &s.othersKilled, &s.knowsLogin)
	}
	for _, one := range all {
		as(one)
	}
}
