package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// writePodRoles writes on the pods what their nodes are: the role label first, then the readiness gate, so
// that no client reads from a node by a role that it does not have.
func (r *Reconciler) writePodRoles(ctx context.Context, outdated []podRole) error {
	var errs []error
	for _, m := range outdated {
		next := m.pod.DeepCopy()
		if next.Labels[topology.LabelRole] != m.role {
			next.Labels[topology.LabelRole] = m.role
			errs = append(errs, r.podRoleError(r.Patch(ctx, next, ctrlclient.MergeFrom(m.pod), ctrlclient.FieldOwner(converge.FieldManager)),
				m.pod.Name))
		}
		if conditionTrue(m.pod, topology.GateInSync) != m.inSync {
			base := next.DeepCopy()
			setGate(next, m.inSync)
			errs = append(errs, r.podRoleError(r.Status().Patch(ctx, next, ctrlclient.StrategicMergeFrom(base),
				ctrlclient.FieldOwner(converge.FieldManager)), m.pod.Name))
		}
	}
	return errors.Join(errs...)
}

func (r *Reconciler) podRoleError(err error, name string) error {
	if ctrlclient.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing the role of its node on pod %q: %w", name, err)
	}
	return nil
}

func setGate(pod *corev1.Pod, inSync bool) {
	condition := corev1.PodCondition{Type: topology.GateInSync, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now()}
	if inSync {
		condition.Status = corev1.ConditionTrue
	}
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == topology.GateInSync })
	if i < 0 {
		pod.Status.Conditions = append(pod.Status.Conditions, condition)
		return
	}
	pod.Status.Conditions[i] = condition
}

// podRole is what a pod shows of its node: the role label, by which the replicas' Service
// selects, and the readiness gate, which says whether the data is there.
type podRole struct {
	pod    *corev1.Pod
	role   string
	inSync bool
}

// outdatedPodRoles gives the roles that differ from what the pods show. It gives none without a serving master,
// when a pod that is unready for a moment would leave its Service, and none right after a change of the route:
// kube-proxy takes one change a second, and a new role would delay the route of the next failover. No client reads from
// a node that was never in sync.
func outdatedPodRoles(s topology.Situation, pods []corev1.Pod) []podRole {
	master, serving := s.ServingMaster()
	if !serving || s.PodRolesDelay() > 0 {
		return nil
	}
	var outdated []podRole
	for i := range pods {
		m, _ := s.Find(pods[i].Name)
		if m.Answer != wire.Reached || m.PodUID != pods[i].UID || m.Deleting {
			continue
		}
		want := podRole{pod: &pods[i], role: pods[i].Labels[topology.LabelRole], inSync: m.InSync(master)}
		switch {
		case m.IsProcess(s.Status.Replication.Master):
			want.role, want.inSync = topology.RoleMaster, true
		case want.inSync:
			want.role = topology.RoleReplica
		case s.SinceRouted < topology.OldClientTime:
			continue // it is about to be in sync again
		}
		if pods[i].Labels[topology.LabelRole] != want.role || conditionTrue(&pods[i], topology.GateInSync) != want.inSync {
			outdated = append(outdated, want)
		}
	}
	return outdated
}

func conditionTrue(pod *corev1.Pod, conditionType corev1.PodConditionType) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == conditionType && c.Status == corev1.ConditionTrue
	})
}
