package topology

import commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"

// QuorumMargin counts as a failover would, were the master lost now. The
// margin is how many replicas may be lost with it.
func (s Situation) QuorumMargin() (margin int, reason string) {
	master, serving := s.ServingMaster()
	if !serving {
		return -1, commonv1.ReasonNoMaster
	}
	candidates := s.Where(func(m Node) bool { return s.isMember(m) && m.InSync(master) })
	never := s.Where(func(m Node) bool { return s.isMember(m) && m.Answers() && !m.hasHistory(s.Status.Replication) })
	all := len(s.Status.Replication.SyncSet) - len(never)
	margin = len(candidates) + s.requiredConfirmations() - all - 1
	switch {
	case len(candidates) == 0:
		return -1, commonv1.ReasonNoReplicaInSync
	case margin < 0:
		return margin, commonv1.ReasonTooFewReplicasInSync
	}
	return min(margin, len(candidates)-1), commonv1.ReasonReplicasInSync
}
