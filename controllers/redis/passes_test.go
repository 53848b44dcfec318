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
func (c *passes) play(o *operator, nodes int8) played {
	if c == nil {
		return o.play()
	}
	k := &c.keeper
	k.buffer, k.known = k.buffer[:0], 0
	k.played(o, nodes)
	key := maphash.Bytes(seed, k.buffer)
	if known := &c.recent[key%recentPasses]; known.key == key {
		p := known.played
		p.rename(func(i *id) { *i = k.named(*i) })
		p.next.record.version = o.read.record.version
		return p
	}
	p := o.play()
	kept := p
	kept.rename(func(i *id) { *i = k.place(*i) })
	c.recent[key%recentPasses] = replay{key, kept}
	return p
}

// rename all that a played pass names.
func (p *played) rename(as func(*id)) {
	q := &p.next
	all := []*id{&q.pod, &q.run, &q.to, &q.login, &q.record.history, &q.record.leader.pod, &q.record.leader.run, &q.record.fromPod, &q.label.history}
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
