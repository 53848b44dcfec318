package redis

import (
	"slices"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// lowerMinReplicas lowers W (min-replicas-to-write) before anything else that needs it low, and mends it where
// the master has another than the record.
func (s situation) lowerMinReplicas(master member) (step, bool) {
	effective := s.Status.Replication.EffectiveMinReplicas
	want := min(effective, s.MinReplicas)
	return step{do: setMinReplicas, nodes: []string{master.name}, minReplicas: want}, want < effective || master.MinReplicas != effective
}

// raiseMinReplicas raises W once so many replicas follow, or growing would stop the writes, and only while none
// that counts is behind, or it could not be recorded.
func (s situation) raiseMinReplicas(master member) (step, bool) {
	want := s.MinReplicas
	following := s.where(func(m member) bool { return s.isMember(m) && m.inSync(master) })
	return step{do: setMinReplicas, nodes: []string{master.name}, minReplicas: want},
		want > s.Status.Replication.EffectiveMinReplicas && len(following) >= int(want) &&
			len(following) == len(s.Status.Replication.SyncSet)
}

// removeLostMembers removes members whose process is gone, by all appearances, or whose ordinal is: as long as
// they count, they could hold what others lack. First the others must have all, and the master refuses those
// that go, so that one which lives after all confirms nothing.
func (s situation) removeLostMembers(master member) (step, bool) {
	var uncounted []member
	var gone []string
	behind := false
	for _, p := range s.Status.Replication.SyncSet {
		m, _ := s.find(p.Name)
		switch {
		case m.isProcess(p) && s.isWanted(m):
			behind = behind || !m.inSync(master)
		case m.answers() && !m.Fenced(): // surplus, or started anew between being recorded and being told to follow
			uncounted = append(uncounted, m)
		case s.hasLeft(p):
			gone = append(gone, p.Name)
		case s.isSilentFor(m, unreachableLimit): // it counts on, and is not waited for
		default:
			behind = true
		}
	}
	if len(uncounted) > 0 {
		return step{do: fence, nodes: namesOf(uncounted), message: "only what is recorded may confirm writes"}, true
	}
	return step{do: removeMembers, nodes: gone}, len(gone) > 0 && !behind
}

// hasLeft reports whether the process of record has ended or follows nobody for good.
func (s situation) hasLeft(p cachev1alpha1.RedisProcess) bool {
	m, _ := s.find(p.Name)
	return m.podUID != p.PodUID || m.stopped || m.Answer == wire.Refused || m.Answer == wire.Reached
}

// attachReplicas attaches nodes that follow somebody else or nobody.
func (s situation) attachReplicas(master member) (step, bool) {
	astray := s.where(func(m member) bool {
		_, counted := s.memberNamed(m.name)
		return m.name != master.name && m.answers() && s.isWanted(m) && !m.deleting &&
			(!counted || s.isMember(m) && (!m.Follows(master.address) || !m.LinkUp && !m.loginSent))
	})
	return step{do: attachReplicas, nodes: namesOf(astray)}, len(astray) > 0
}

// allowStaleReads lets nodes that have come to be in sync answer reads from then on also while they do not hear
// their master. Before, a server answers nobody: it may have no data.
func (s situation) allowStaleReads(master member) (step, bool) {
	closed := s.where(func(m member) bool { return m.answers() && !m.ServesStale && (m.Master || m.inSync(master)) })
	return step{do: serveStaleReads, nodes: namesOf(closed), message: "it has its data by now", requeueAfter: shortRequeue}, len(closed) > 0
}

// memberNamed gives the recorded process of that name that may confirm writes.
func (s situation) memberNamed(name string) (cachev1alpha1.RedisProcess, bool) {
	set := s.Status.Replication.SyncSet
	i := slices.IndexFunc(set, func(p cachev1alpha1.RedisProcess) bool { return p.Name == name })
	if i < 0 {
		return cachev1alpha1.RedisProcess{}, false
	}
	return set[i], true
}

// isMember reports whether a node is in the sync set: the very process that was recorded as a member.
func (s situation) isMember(m member) bool {
	p, ok := s.memberNamed(m.name)
	return ok && m.isProcess(p)
}
