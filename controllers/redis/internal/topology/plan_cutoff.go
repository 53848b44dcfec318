package topology

import (
	"fmt"
	"slices"
	"time"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

const (
	// ReconnectTime is how long a master must be cut off before it is replaced: a replica that was just asked to follow
	// takes up to a second to connect. LastIO does not show that, as it counts from before that command.
	ReconnectTime = time.Second
)

// replaceCutOffMaster replaces a master that the operator reaches and that too few replicas hear: it refuses writes, and
// the others hold every confirmed write. The fence is the proof of its end.
//
// Two masters do not take turns: only replicas that have had the stream of this very master count.
func (s Situation) replaceCutOffMaster(master Node) (Step, bool) {
	deaf := s.deafReplicas(master)
	if len(deaf) == 0 {
		return Step{}, false
	}
	// Servers count LastIO in whole seconds: 2 may be hardly more than 1, which is usual.
	limit := max(s.DeafLimit, recentIO+time.Second)
	if s.CutOffFor < ReconnectTime || slices.ContainsFunc(deaf, func(m Node) bool { return m.LastIO < limit }) {
		return Step{Do: Wait, Message: fmt.Sprintf("%s does not reach its replicas", master.Name), RequeueAfter: 4 * ShortRequeue}, true
	}
	next := slices.MaxFunc(deaf, func(a, b Node) int { return int(a.Offset - b.Offset) })
	return Step{Do: StepDown, NodeNames: []string{next.Name}, Reason: commonv1.ReasonMasterCutOff,
		Evidence: fmt.Sprintf("the operator reaches %s, and %d replicas have not heard it for %s", master.Name, len(deaf), limit)}, true
}

// deafReplicas returns the replicas that no longer hear the master, if it is to be replaced: too few hear it to confirm a
// write, and the deaf ones hold every confirmed write and are enough to continue. Otherwise it returns none.
func (s Situation) deafReplicas(master Node) []Node {
	needed := int(s.Status.Replication.EffectiveMinReplicas)
	deaf := s.Where(func(m Node) bool { return s.isMember(m) && m.isDeafTo(master) })
	hearing := s.Count(func(m Node) bool { return s.isMember(m) && m.InSync(master) && m.LastIO < recentIO })
	if safe, _ := s.isSafe(deaf); hearing >= needed || len(deaf) <= needed || !safe {
		return nil
	}
	return deaf
}

// isDeafTo reports whether a replica that had the master's stream no longer hears it. One that waits for a full copy, or
// is being sent one, still has a way to the master.
func (n Node) isDeafTo(master Node) bool {
	return n.Answers() && n.Follows(master.Address) && n.ReplID == master.ReplID && !n.Deleting && n.LastIO >= recentIO &&
		!n.Syncing && !slices.Contains(master.Copying, n.Address)
}

// IsCutOff reports whether the recorded master may have to be replaced because its replicas do not hear it.
func (s Situation) IsCutOff() bool {
	rep := s.Status.Replication
	if rep == nil {
		return false
	}
	master := s.RecordedMaster(rep.Master)
	return master.IsProcess(rep.Master) && master.Master && len(s.deafReplicas(master)) > 0
}

// candidatesWithoutCutOffMaster returns the candidates but the recorded master, if that was fenced because its replicas
// did not hear it, and if the rest hold every confirmed write. Once the promotion is recorded, the two epochs are equal,
// and the rule ends.
func (s Situation) candidatesWithoutCutOffMaster(candidates []Node) []Node {
	last, rep := s.Status.LastFailover, s.Status.Replication
	if last == nil || last.Reason != commonv1.ReasonMasterCutOff || last.Epoch != s.Status.Epoch || rep.Epoch == s.Status.Epoch {
		return nil
	}
	others := slices.DeleteFunc(slices.Clone(candidates), func(m Node) bool { return m.IsProcess(rep.Master) })
	if safe, _ := s.isSafe(others); !safe {
		return nil
	}
	return others
}
