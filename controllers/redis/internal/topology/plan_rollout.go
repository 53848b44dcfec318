package topology

import (
	"slices"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// rollOutdated deletes the pod of one outdated replica while all others are well. One that is not in sync goes first, as it would be
// replaced anyhow once it is; of the others the highest ordinal does, once it has its data where its successor looks for it.
func (s Situation) rollOutdated(master Node) (Step, bool) {
	outdated := s.Where(func(m Node) bool {
		return m.Outdated && !m.Deleting && (m.Name != master.Name || s.Size == 1 && !s.Supervised)
	})
	if len(outdated) == 0 {
		return Step{}, false
	}
	next, behind := outdated[len(outdated)-1], ""
	if i := slices.IndexFunc(outdated, func(m Node) bool { return m.Name != master.Name && m.mayStayBehind(master) }); i >= 0 {
		next, behind = outdated[i], outdated[i].Name
	}
	missing := slices.DeleteFunc(s.unansweredNodes(), func(name string) bool { return name == behind })
	if len(missing) > 0 || !s.allOthers(master, func(m Node) bool { return m.Name == behind || m.InSync(master) && !m.Deleting }) ||
		!next.hasNoServer() && !next.persistsAs(s.Settings.Live[config.AppendOnly]) {
		return Step{}, false
	}
	return Step{Do: DeletePod, NodeNames: []string{next.Name}, Message: "its pod is outdated"}, true
}

// mayStayBehind reports whether a replica may never come to be in sync: its pod runs no server, or one that does not follow the master.
func (n Node) mayStayBehind(master Node) bool {
	return n.hasNoServer() || n.Answers() && !n.InSync(master)
}

// restartFailing deletes an outdated pod that runs no server, because a later template may start one: a mistake in the spec that was
// corrected. Nothing is lost with a pod that is not recorded: what it confirmed, if it ever ran, is on its volume.
func (s Situation) restartFailing() (Step, bool) {
	failing := s.Where(func(m Node) bool {
		return m.Outdated && !m.Deleting && m.hasNoServer() && !IsRecorded(s.Status.Replication, m.PodUID) &&
			(m.NotStarted || !s.isBeingPromoted(m))
	})
	if len(failing) == 0 {
		return Step{}, false
	}
	return Step{Do: DeletePod, NodeNames: []string{failing[len(failing)-1].Name},
		Message: "no server runs in it, and its pod is outdated"}, true
}

// hasNoServer reports whether no server runs in a node's pod.
func (n Node) hasNoServer() bool {
	return n.Answer == wire.Refused || n.Answer == wire.Silent && (n.Stopped || n.NotStarted)
}

// isBeingPromoted reports whether a node may be master already, which is recorded only afterwards.
func (s Situation) isBeingPromoted(m Node) bool {
	rep := s.Status.Replication
	return m.Name == s.Status.TargetMaster && (rep == nil || rep.Epoch < s.Status.Epoch)
}
