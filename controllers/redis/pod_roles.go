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
)

// writePodRoles writes on the pods what their nodes are: the role label first, then the readiness gate, so
// that no client reads from a node by a role that it does not have.
func (p *pass) writePodRoles(ctx context.Context, outdated []topology.PodRole) error {
	var errs []error
	for _, m := range outdated {
		next := m.Pod.DeepCopy()
		if next.Labels[topology.LabelRole] != m.Role {
			next.Labels[topology.LabelRole] = m.Role
			errs = append(errs, podRoleError(p.Patch(ctx, next, ctrlclient.MergeFrom(m.Pod), ctrlclient.FieldOwner(converge.FieldManager)),
				m.Pod.Name))
		}
		if topology.IsGateOpen(m.Pod) != m.InSync {
			base := next.DeepCopy()
			setGate(next, m.InSync)
			errs = append(errs, podRoleError(p.Status().Patch(ctx, next, ctrlclient.StrategicMergeFrom(base),
				ctrlclient.FieldOwner(converge.FieldManager)), m.Pod.Name))
		}
	}
	return errors.Join(errs...)
}

func podRoleError(err error, name string) error {
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
