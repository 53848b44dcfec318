package topology

import (
	"fmt"
	"slices"
	"time"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

const (
	// ReconnectTime is how long a replica gets to reach a master again: connecting takes some milliseconds, and
	// it tries once a second. The servers' own count of seconds goes on from before they were told to follow.
	ReconnectTime = time.Second
)

// replaceCutOffMaster replaces a master that serves nobody: so few replicas hear it that it refuses writes, and
// others hold all that was confirmed. The operator still reaches it, so its end as a master is proven at once:
// fenced, it takes no writes, and a failover chooses among the rest.
//
// Mastership does not go back and forth: each of these replicas has had the stream of this very master, and
// before another master is replaced in the same way, as many must have reached it.
func (s Situation) replaceCutOffMaster(master Node) (Step, bool) {
	deaf := s.replicasCutOff(master)
	if len(deaf) == 0 {
		return Step{}, false
	}
	// The servers tell whole seconds: two may be little more than one, which is usual.
	limit := max(s.SilenceLimit, recentIO+time.Second)
	if s.CutOffFor < ReconnectTime || slices.ContainsFunc(deaf, func(m Node) bool { return m.LastIO < limit }) {
		return Step{Do: Wait, Message: fmt.Sprintf("%s does not reach its replicas", master.Name), RequeueAfter: 4 * ShortRequeue}, true
	}
	next := slices.MaxFunc(deaf, func(a, b Node) int { return int(a.Offset - b.Offset) })
	return Step{Do: StepDown, Nodes: []string{next.Name}, Reason: commonv1.ReasonMasterCutOff,
		Evidence: fmt.Sprintf("the operator reaches %s, and %d replicas have not heard it for %s", master.Name, len(deaf), limit)}, true
}

// replicasCutOff are the replicas that do not hear a master that needs them, if they can do without it: they
// hold all that was confirmed, and whichever takes over has enough followers.
func (s Situation) replicasCutOff(master Node) []Node {
	needed := int(s.Status.Replication.EffectiveMinReplicas)
	deaf := s.Where(func(m Node) bool { return s.isMember(m) && m.isCutOffFrom(master) })
	hearing := s.Count(func(m Node) bool { return s.isMember(m) && m.InSync(master) && m.LastIO < recentIO })
	if safe, _ := s.isSafe(deaf); hearing >= needed || len(deaf) <= needed || !safe {
		return nil
	}
	return deaf
}

// isCutOffFrom reports whether a replica that had the master's stream hears it no more. One that waits for a
// full copy, or is being sent it, has a way to the master.
func (m Node) isCutOffFrom(master Node) bool {
	return m.Answers() && m.Follows(master.Address) && m.ReplID == master.ReplID && !m.Deleting && m.LastIO >= recentIO &&
		!m.Syncing && !slices.Contains(master.Copying, m.Address)
}

// IsCutOff reports whether the master of record may have to be replaced because its replicas do not hear it.
func (s Situation) IsCutOff() bool {
	rep := s.Status.Replication
	if rep == nil {
		return false
	}
	master := s.RecordedMaster(rep.Master)
	return master.IsProcess(rep.Master) && master.Master && len(s.replicasCutOff(master)) > 0
}

// candidatesBesideCutOff are the candidates other than a master that was fenced because its replicas did not
// hear it, where nothing confirmed is lost without it. Until one of them is promoted, the record is of an
// earlier epoch.
func (s Situation) candidatesBesideCutOff(candidates []Node) []Node {
	last, rep := s.Status.LastFailover, s.Status.Replication
	if last == nil || last.Reason != commonv1.ReasonMasterCutOff || last.Epoch != s.Status.Epoch || rep.Epoch == s.Status.Epoch {
		return nil
	}
	beside := slices.DeleteFunc(slices.Clone(candidates), func(m Node) bool { return m.IsProcess(rep.Master) })
	if safe, _ := s.isSafe(beside); !safe {
		return nil
	}
	return beside
}
