package topology

import (
	"slices"
	"time"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// lowerMinReplicas lowers W (min-replicas-to-write) before anything else that needs it low, and corrects it where
// the master has another than the record.
func (s Situation) lowerMinReplicas(master Node) (Step, bool) {
	effective := s.Status.Replication.EffectiveMinReplicas
	want := min(effective, s.MinReplicas)
	return Step{Do: SetMinReplicas, NodeNames: []string{master.Name}, MinReplicas: want}, want < effective || master.MinReplicas != effective
}

// raiseMinReplicas raises W once so many replicas follow, or growing would stop the writes, and only while none
// that counts is behind, or it could not be recorded.
func (s Situation) raiseMinReplicas(master Node) (Step, bool) {
	want := s.MinReplicas
	following := s.Where(func(m Node) bool { return s.isMember(m) && m.InSync(master) })
	return Step{Do: SetMinReplicas, NodeNames: []string{master.Name}, MinReplicas: want},
		want > s.Status.Replication.EffectiveMinReplicas && len(following) >= int(want) &&
			len(following) == len(s.Status.Replication.SyncSet)
}

// removeLostMembers removes members whose process is gone, by all appearances, or whose ordinal is: as long as
// they count, they could hold what others lack. First the others must have all, and the master refuses those
// that go, so that one which lives after all confirms nothing.
func (s Situation) removeLostMembers(master Node) (Step, bool) {
	var uncounted []Node
	var gone []string
	behind := false
	for _, p := range s.Status.Replication.SyncSet {
		m, _ := s.Find(p.Name)
		switch {
		case m.IsProcess(p) && s.isWanted(m):
			behind = behind || !m.InSync(master)
		case m.Answers() && !m.Fenced(): // surplus, or restarted between being recorded and being asked to follow
			uncounted = append(uncounted, m)
		case s.hasLeft(p):
			gone = append(gone, p.Name)
		case s.isSilentFor(m, s.unreachableLimit()): // it counts on, and is not waited for
		default:
			behind = true
		}
	}
	if len(uncounted) > 0 {
		return Step{Do: Fence, NodeNames: NamesOf(uncounted), Message: "only what is recorded may confirm writes"}, true
	}
	return Step{Do: RemoveMembers, NodeNames: gone}, len(gone) > 0 && !behind
}

// hasLeft reports whether the recorded process has ended or follows no server for good.
func (s Situation) hasLeft(p cachev1alpha1.RedisProcess) bool {
	m, _ := s.Find(p.Name)
	return m.PodUID != p.PodUID || m.Stopped || m.Answer == wire.Refused || m.Answer == wire.Reached
}

// expelUnrecorded takes the stream from replicas that are not recorded: they could confirm writes that no
// failover knows of. One is a replica that logged in under an earlier release at an address that no pod has by
// now. One that is still being sent all data confirms nothing yet, and a backup never is more than that: it says
// REPLCONF rdb-only (replicaPutOnline of Redis' replication.c). The nodes of the step are addresses, for the log only.
func (s Situation) expelUnrecorded(master Node) (Step, bool) {
	var unrecorded []string
	for _, address := range master.Attached {
		ours := slices.ContainsFunc(s.Nodes, func(m Node) bool { return m.Address == address })
		if !ours && !slices.Contains(master.Copying, address) {
			unrecorded = append(unrecorded, address)
		}
	}
	return Step{Do: ExpelUnrecorded, NodeNames: unrecorded, Message: "only what is recorded may confirm writes", RequeueAfter: time.Second},
		len(unrecorded) > 0
}

// attachReplicas attaches nodes that follow another server or none, and gives a new login to those that need one: a server that
// already follows that master keeps its connection.
func (s Situation) attachReplicas(master Node) (Step, bool) {
	astray := s.Where(func(m Node) bool {
		_, counted := s.memberNamed(m.Name)
		return m.Name != master.Name && m.Answers() && s.isWanted(m) && !m.Deleting &&
			(!counted || s.isMember(m) && (!m.Follows(master.Address) || !m.LoginSent && (s.RenewingLogins || !m.LinkUp)))
	})
	return Step{Do: AttachReplicas, NodeNames: NamesOf(astray)}, len(astray) > 0
}

// allowStaleReads lets nodes that have come to be in sync answer reads from then on also while they do not hear
// their master. Before, a server answers no client: it may have no data.
func (s Situation) allowStaleReads(master Node) (Step, bool) {
	closed := s.Where(func(m Node) bool { return m.Answers() && !m.ServesStale && (m.Master || m.InSync(master)) })
	return Step{Do: ServeStaleReads, NodeNames: NamesOf(closed), Message: "it has its data by now", RequeueAfter: ShortRequeue},
		len(closed) > 0
}

// memberNamed gives the recorded process of that name that may confirm writes.
func (s Situation) memberNamed(name string) (cachev1alpha1.RedisProcess, bool) {
	set := s.Status.Replication.SyncSet
	i := slices.IndexFunc(set, func(p cachev1alpha1.RedisProcess) bool { return p.Name == name })
	if i < 0 {
		return cachev1alpha1.RedisProcess{}, false
	}
	return set[i], true
}

// isMember reports whether a node is in the sync set: the very process that was recorded as a member.
func (s Situation) isMember(m Node) bool {
	p, ok := s.memberNamed(m.Name)
	return ok && m.IsProcess(p)
}
