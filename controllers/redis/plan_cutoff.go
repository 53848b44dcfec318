package redis

import (
	"fmt"
	"slices"
	"time"
)

const (
	// reasonMasterCutOff is of a change of a master that the operator reached and its replicas did not.
	reasonMasterCutOff = "MasterCutOff"
	// reconnecting to a master takes a replica some milliseconds, and it does so once a second. The
	// servers' own count of seconds goes on from before they were told to follow.
	reconnecting = time.Second
)

// cutOff is a master that serves nobody: so few replicas hear it that it refuses writes, and all that
// was confirmed is with others. The operator still reaches it, so its end as a master is proven at
// once: fenced, it takes no writes, and a failover chooses among the rest.
//
// It does not go back and forth. Each of these replicas has had the stream of this very master:
// before another is replaced in the same way, it must have been reached by as many.
func (s situation) cutOff(master member) (step, bool) {
	deaf := s.deaf(master)
	if len(deaf) == 0 {
		return step{}, false
	}
	// The servers tell whole seconds: two may be little more than one, which is usual.
	limit := max(silenceLimit(s.Redis), recently+time.Second)
	if s.cutOffFor < reconnecting || slices.ContainsFunc(deaf, func(m member) bool { return m.LastIO < limit }) {
		return step{do: wait, why: fmt.Sprintf("%s does not reach its replicas", master.name), after: 4 * soon}, true
	}
	next := slices.MaxFunc(deaf, func(a, b member) int { return int(a.Offset - b.Offset) })
	return step{do: stepDown, nodes: []string{next.name}, why: reasonMasterCutOff,
		evidence: fmt.Sprintf("the operator reaches %s, and %d replicas have not heard it for %s", master.name, len(deaf), limit)}, true
}

// deaf are the replicas that do not hear a master that needs them, if they can do without it: all
// that was confirmed is with them, and whoever of them takes over has enough who follow.
func (s situation) deaf(master member) []member {
	needed := int(s.Status.Replication.EffectiveMinReplicas)
	deaf := s.where(func(m member) bool { return s.member(m) && m.deafTo(master) })
	hearing := s.count(func(m member) bool { return s.member(m) && m.inSync(master) && m.LastIO < recently })
	if safe, _ := s.safe(deaf); hearing >= needed || len(deaf) <= needed || !safe {
		return nil
	}
	return deaf
}

// deafTo reports whether a replica that had the stream of that master hears it no more. One that
// waits for all of its data, or is being sent it, has a way to it.
func (m member) deafTo(master member) bool {
	return m.answers() && m.Follows(master.address) && m.ReplID == master.ReplID && !m.deleting && m.LastIO >= recently &&
		!m.Syncing && !slices.Contains(master.Copying, m.address)
}

// isCutOff reports whether the master of record may have to be replaced for that.
func (s situation) isCutOff() bool {
	rep := s.Status.Replication
	if rep == nil {
		return false
	}
	master := s.recorded(rep.Master)
	return master.is(rep.Master) && master.Master && len(s.deaf(master)) > 0
}

// besideCutOff are the heirs other than a master that was fenced since its replicas did not hear
// it, where nothing confirmed is lost without it. Until one of them is promoted, the record is
// of an epoch before.
func (s situation) besideCutOff(heirs []member) []member {
	last, rep := s.Status.LastFailover, s.Status.Replication
	if last == nil || last.Reason != reasonMasterCutOff || last.Epoch != s.Status.Epoch || rep.Epoch == s.Status.Epoch {
		return nil
	}
	beside := slices.DeleteFunc(slices.Clone(heirs), func(m member) bool { return m.is(rep.Master) })
	if safe, _ := s.safe(beside); !safe {
		return nil
	}
	return beside
}
