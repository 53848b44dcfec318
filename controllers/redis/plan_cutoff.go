package redis

import (
	"fmt"
	"slices"
	"time"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

const (
	// reconnectTime is how long a replica gets to reach a master again: connecting takes some milliseconds, and
	// it tries once a second. The servers' own count of seconds goes on from before they were told to follow.
	reconnectTime = time.Second
)

// replaceCutOffMaster replaces a master that serves nobody: so few replicas hear it that it refuses writes, and
// others hold all that was confirmed. The operator still reaches it, so its end as a master is proven at once:
// fenced, it takes no writes, and a failover chooses among the rest.
//
// Mastership does not go back and forth: each of these replicas has had the stream of this very master, and
// before another master is replaced in the same way, as many must have reached it.
func (s situation) replaceCutOffMaster(master member) (step, bool) {
	deaf := s.replicasCutOff(master)
	if len(deaf) == 0 {
		return step{}, false
	}
	// The servers tell whole seconds: two may be little more than one, which is usual.
	limit := max(s.SilenceLimit, recentIO+time.Second)
	if s.cutOffFor < reconnectTime || slices.ContainsFunc(deaf, func(m member) bool { return m.LastIO < limit }) {
		return step{do: wait, message: fmt.Sprintf("%s does not reach its replicas", master.name), requeueAfter: 4 * shortRequeue}, true
	}
	next := slices.MaxFunc(deaf, func(a, b member) int { return int(a.Offset - b.Offset) })
	return step{do: stepDown, nodes: []string{next.name}, reason: commonv1.ReasonMasterCutOff,
		evidence: fmt.Sprintf("the operator reaches %s, and %d replicas have not heard it for %s", master.name, len(deaf), limit)}, true
}

// replicasCutOff are the replicas that do not hear a master that needs them, if they can do without it: they
// hold all that was confirmed, and whichever takes over has enough followers.
func (s situation) replicasCutOff(master member) []member {
	needed := int(s.Status.Replication.EffectiveMinReplicas)
	deaf := s.where(func(m member) bool { return s.isMember(m) && m.isCutOffFrom(master) })
	hearing := s.count(func(m member) bool { return s.isMember(m) && m.inSync(master) && m.LastIO < recentIO })
	if safe, _ := s.isSafe(deaf); hearing >= needed || len(deaf) <= needed || !safe {
		return nil
	}
	return deaf
}

// isCutOffFrom reports whether a replica that had the master's stream hears it no more. One that waits for a
// full copy, or is being sent it, has a way to the master.
func (m member) isCutOffFrom(master member) bool {
	return m.answers() && m.Follows(master.address) && m.ReplID == master.ReplID && !m.deleting && m.LastIO >= recentIO &&
		!m.Syncing && !slices.Contains(master.Copying, m.address)
}

// isCutOff reports whether the master of record may have to be replaced because its replicas do not hear it.
func (s situation) isCutOff() bool {
	rep := s.Status.Replication
	if rep == nil {
		return false
	}
	master := s.recordedMaster(rep.Master)
	return master.isProcess(rep.Master) && master.Master && len(s.replicasCutOff(master)) > 0
}

// candidatesBesideCutOff are the candidates other than a master that was fenced because its replicas did not
// hear it, where nothing confirmed is lost without it. Until one of them is promoted, the record is of an
// earlier epoch.
func (s situation) candidatesBesideCutOff(candidates []member) []member {
	last, rep := s.Status.LastFailover, s.Status.Replication
	if last == nil || last.Reason != commonv1.ReasonMasterCutOff || last.Epoch != s.Status.Epoch || rep.Epoch == s.Status.Epoch {
		return nil
	}
	beside := slices.DeleteFunc(slices.Clone(candidates), func(m member) bool { return m.isProcess(rep.Master) })
	if safe, _ := s.isSafe(beside); !safe {
		return nil
	}
	return beside
}
