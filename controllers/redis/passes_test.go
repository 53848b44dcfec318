package redis

import "hash/maphash"

// passes that were played not long ago. Most of what happens in a universe does not concern a
// pass that has begun: with other names, the same pass was played before.
type passes struct {
	recent []replay
	keeper keeper
}

// replay of a pass, whose ids are those of its key.
type replay struct {
	key uint64
	played
}

// recentPasses are some 100 MB; twice as many save less than they cost.
const recentPasses = 1 << 18

func newPasses() *passes { return &passes{recent: make([]replay, recentPasses)} }

// play a pass, or tell what came of the same one.
func (c *passes) play(o *operator, nodes int8, more func(question) bool) played {
	if c == nil {
		return o.play(more)
	}
	for {
		p, known := c.recall(o, nodes)
		if !known {
			p = o.play(func(q question) bool {
				c.keep(o, nodes, played{asks: true, next: q})
				return more(q)
			})
			if !p.asks {
				c.keep(o, nodes, p)
			}
			return p
		}
		if !p.asks || !more(p.next) {
			return p
		}
	}
}

func (c *passes) recall(o *operator, nodes int8) (played, bool) {
	one, key := c.place(o, nodes)
	if one.key != key {
		return played{}, false
	}
	p := one.played
	p.rename(func(i *id) { *i = c.keeper.named(*i) })
	p.next.record.version = o.read.record.version
	return p, true
}

func (c *passes) keep(o *operator, nodes int8, p played) {
	one, key := c.place(o, nodes)
	p.rename(func(i *id) { *i = c.keeper.place(*i) })
	*one = replay{key, p}
}

// place of a pass, and its key.
func (c *passes) place(o *operator, nodes int8) (*replay, uint64) {
	k := &c.keeper
	k.buffer, k.known = k.buffer[:0], 0
	k.played(o, nodes)
	key := maphash.Bytes(seed, k.buffer)
	return &c.recent[key%recentPasses], key
}

// rename all that a played pass names.
func (p *played) rename(as func(*id)) {
	q := &p.next
	all := []*id{&q.pod, &q.run, &q.to, &q.login, &q.record.history, &q.record.former, &q.record.leader.pod, &q.record.leader.run, &q.record.fromPod, &q.label.history}
	for i := range mostNodes {
		all = append(all, &q.admits[i], &q.record.members[i].pod, &q.record.members[i].run)
	}
	for i := range p.known.servers {
		s := &p.known.servers[i]
		all = append(all, &s.pod, &s.outranked, &s.told)
	}
	for _, one := range all {
		as(one)
	}
}
