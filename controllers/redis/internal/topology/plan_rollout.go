package topology

import (
	"slices"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// rollOutdated deletes the pod of one outdated replica, from the highest ordinal, while all others are well and it has its data where its
// successor looks for it.
func (s Situation) rollOutdated(master Node) (Step, bool) {
	if len(s.unansweredNodes()) > 0 || !s.allOthers(master, func(m Node) bool { return m.InSync(master) && !m.Deleting }) {
		return Step{}, false
	}
	outdated := s.Where(func(m Node) bool {
		return m.Outdated && !m.Deleting && (m.Name != master.Name || s.Size == 1 && !s.Supervised)
	})
	if len(outdated) == 0 || !outdated[len(outdated)-1].persistsAs(s.Settings.Live[config.AppendOnly]) {
		return Step{}, false
	}
	return Step{Do: DeletePod, NodeNames: []string{outdated[len(outdated)-1].Name}, Message: "its pod is outdated"}, true
}

// FailingPods are the nodes whose outdated pods run no server and are to be replaced: their template may have a mistake that the current
// one has not, and the rules of Plan wait for them. A pod that never started has nothing to lose. One whose server has ended may start
// again by itself: it goes alone, and only when no other pod has yet to show that the current template works.
func (s Situation) FailingPods() []string {
	failing := s.Where(func(m Node) bool { return m.Outdated && !m.Deleting && m.hasNoServer() && s.mayLosePod(m) })
	ended := slices.DeleteFunc(slices.Clone(failing), func(m Node) bool { return m.NotStarted || s.hasNeverFormed() })
	if len(ended) > 0 && len(ended) == len(failing) && s.isTemplateProven() {
		return []string{ended[len(ended)-1].Name}
	}
	return NamesOf(slices.DeleteFunc(failing, func(m Node) bool {
		return slices.ContainsFunc(ended, func(e Node) bool { return e.Name == m.Name })
	}))
}

// isTemplateProven reports whether all pods that have the current template, and no others are to come, run a server.
func (s Situation) isTemplateProven() bool {
	return len(s.Nodes) >= int(s.Size) && s.Count(func(m Node) bool { return m.Deleting || !m.Outdated && !m.Answers() }) == 0
}

// hasNeverFormed reports whether there has been no master yet.
func (s Situation) hasNeverFormed() bool { return s.Status.Replication == nil && s.Status.Epoch == 0 }

// hasNoServer reports whether no server runs in a node's pod.
func (n Node) hasNoServer() bool {
	return n.Answer == wire.Refused || n.Answer == wire.Silent && (n.Stopped || n.NotStarted)
}

// mayLosePod reports whether no data is lost with the pod of a node that runs no server. That of a recorded process stays: its container
// may start again with what it has. What any other has is on its volume, unless that goes with the pod.
func (s Situation) mayLosePod(m Node) bool {
	rep := s.Status.Replication
	switch {
	case IsRecorded(rep, m.PodUID):
		return false
	case m.NotStarted, s.hasNeverFormed():
		return true
	case s.Storage != nil:
		claim := s.Volumes[m.Name].Claim
		return claim != nil && claim.DeletionTimestamp.IsZero()
	}
	return rep != nil && !s.isBeingPromoted(m)
}

// isBeingPromoted reports whether a node may be master already, which is recorded only afterwards.
func (s Situation) isBeingPromoted(m Node) bool {
	rep := s.Status.Replication
	return m.Name == s.Status.TargetMaster && (rep == nil || rep.Epoch < s.Status.Epoch)
}
