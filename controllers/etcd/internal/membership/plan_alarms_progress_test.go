package membership

import (
	"fmt"
	"testing"
)

// full is a cluster of three whose quota of 1000 MiB is exceeded, in MiB.
type full struct {
	live, old int64    // keys, and revisions of them that a compaction drops
	sizes     [3]int64 // of the files
	leader    int
	revision  int64
	compacted int64 // revision
	lately    bool
	alarm     bool
	elections int // that may yet come
}

// key distinguishes two of them: of revisions it counts only whether there are newer ones than those compacted.
func (f full) key() string {
	return fmt.Sprint(f.live, f.old, f.sizes, f.leader, f.compacted == 0, f.compacted < f.revision, f.lately, f.alarm, f.elections)
}

func (f full) situation() Situation {
	s := newScene()
	s.Quota, s.Status.CompactedRevision, s.CompactedLately = 1000<<20, f.compacted, f.lately
	s.lead(f.leader)
	for i := range s.Members {
		s.fill(f.sizes[i], f.live+f.old, i)
		s.Members[i].View.Revision = f.revision
	}
	if f.alarm {
		s.raise(0, AlarmNoSpace)
	}
	return s.Situation
}

// after is what a step leaves.
func (f full) after(next Step) full {
	switch next.Do {
	case Compact:
		f.old, f.compacted, f.lately = 0, f.revision, true
	case Defragment:
		f.sizes[Ordinal(next.Member)] = f.live + f.old
	case MoveLeader:
		f.leader = int(Ordinal(next.Target))
	case Disarm:
		f.alarm, f.compacted = false, 0
	}
	return f
}

// moves are all that clients and time may do between two passes while writes are refused.
func (f full) moves() []full {
	newer, deleted, cleaned, elected, later := f, f, f, f, f
	newer.revision++ // a lease ends that has no keys
	all := []full{f, newer}
	if f.live > 300 {
		deleted.live, deleted.old, deleted.revision = f.live-150, f.old+150, f.revision+10
		all = append(all, deleted)
	}
	cleaned.old = 0 // by autoCompaction
	later.lately = false
	all = append(all, cleaned, later)
	if f.elections > 0 {
		elected.elections, elected.leader = f.elections-1, (f.leader+1)%3
		all = append(all, elected)
	}
	return all
}

// Whatever happens between two passes, each repair brings the end of the alarm closer: it ends after a number of passes that is small,
// or the data itself is too much.
func TestEachRepairOfTheQuotaMakesProgress(t *testing.T) {
	const most = 20
	for _, start := range []full{
		{live: 400, old: 550, sizes: [3]int64{1000, 1000, 1000}, revision: 7, alarm: true, elections: 1},
		{live: 900, old: 60, sizes: [3]int64{1000, 990, 970}, revision: 7, alarm: true, elections: 1},
		{live: 960, old: 0, sizes: [3]int64{1000, 1000, 1000}, revision: 7, alarm: true},
	} {
		layer := map[string]full{start.key(): start}
		for passes := 0; len(layer) > 0; passes++ {
			if passes == most {
				for _, f := range layer {
					t.Fatalf("after %d passes the alarm is still raised: %+v", most, f)
				}
			}
			next := map[string]full{}
			for _, f := range layer {
				step := f.situation().Plan()
				after := f.after(step)
				switch {
				case step.Do == Block && f.live+f.old > 950, !after.alarm:
					continue // a human is asked, and what they delete is seen later; or it has ended
				case step.Do == Block || step.Do == Wait || step.Do == Idle:
					t.Fatalf("%s %s at %+v", step, step.Message, f)
				}
				for _, moved := range after.moves() {
					next[moved.key()] = moved
				}
			}
			layer = next
		}
	}
}

// Once a human has deleted keys, the block that asked for it ends.
func TestDeletedKeysEndTheAlarm(t *testing.T) {
	f := full{live: 980, sizes: [3]int64{1000, 1000, 1000}, revision: 7, compacted: 7, alarm: true}
	if step := f.situation().Plan(); step.Do != Block {
		t.Fatalf("got %s", step)
	}
	f.live, f.old, f.revision = 300, 680, 50
	for range 20 {
		if f = f.after(f.situation().Plan()); !f.alarm {
			return
		}
	}
	t.Errorf("got %s: %+v", f.situation().Plan(), f)
}
