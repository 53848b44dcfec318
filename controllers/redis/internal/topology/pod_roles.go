package topology

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// PodRole is what a pod shows of its node: the role label, by which the replicas' Service
// selects, and the readiness gate, which says whether the data is there.
type PodRole struct {
	Pod    *corev1.Pod
	Role   string
	InSync bool
}

// OutdatedPodRoles returns the roles that differ from what the pods show. It gives none without a serving master,
// when a pod that is unready for a moment would leave its Service, and none right after a change of the route:
// kube-proxy takes one change a second, and a new role would delay the route of the next failover. No client reads from
// a node that was never in sync.
func (s Situation) OutdatedPodRoles(pods []corev1.Pod) []PodRole {
	master, serving := s.ServingMaster()
	if !serving || s.PodRolesDelay() > 0 {
		return nil
	}
	var outdated []PodRole
	for i := range pods {
		m, _ := s.Find(pods[i].Name)
		if m.Answer != wire.Reached || m.PodUID != pods[i].UID || m.Deleting {
			continue
		}
		want := PodRole{Pod: &pods[i], Role: pods[i].Labels[LabelRole], InSync: m.InSync(master)}
		switch {
		case m.IsProcess(s.Status.Replication.Master):
			want.Role, want.InSync = RoleMaster, true
		case want.InSync:
			want.Role = RoleReplica
		case s.SinceRouted < OldClientTime:
			continue // it is about to be in sync again
		}
		if pods[i].Labels[LabelRole] != want.Role || IsGateOpen(&pods[i]) != want.InSync {
			outdated = append(outdated, want)
		}
	}
	return outdated
}

// IsGateOpen reports whether the readiness gate of a pod says that its data is there.
func IsGateOpen(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == GateInSync && c.Status == corev1.ConditionTrue
	})
}
