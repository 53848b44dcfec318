package children

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	"k8s.io/utils/ptr"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// masterService points at one pod by name: one write changes it, and it never points at two. The operator knows
// that this pod serves; the pod's readiness, which is probed every few seconds, comes later.
func masterService(in Inputs) *corev1ac.ServiceApplyConfiguration {
	s := newService(in, in.Redis.Name, map[string]string{LabelPod: in.Redis.Status.Master})
	s.Spec.WithPublishNotReadyAddresses(true)
	return withExposure(in, s)
}

// replicasService is for reading.
func replicasService(in Inputs) *corev1ac.ServiceApplyConfiguration {
	return withExposure(in, newService(in, in.Spec.ReplicasName(), map[string]string{topology.LabelRole: topology.RoleReplica}))
}

// withExposure exposes a Service as the spec has it.
func withExposure(in Inputs, s *corev1ac.ServiceApplyConfiguration) *corev1ac.ServiceApplyConfiguration {
	s.Spec.WithType(cmp.Or(in.Redis.Spec.Service.Type, corev1.ServiceTypeClusterIP))
	return s.WithAnnotations(in.Redis.Spec.Service.Annotations)
}

// headlessService names the nodes, ready or not.
func headlessService(in Inputs) *corev1ac.ServiceApplyConfiguration {
	service := newService(in, in.Spec.HeadlessName(), nil)
	service.Spec.WithClusterIP(corev1.ClusterIPNone).WithPublishNotReadyAddresses(true)
	return service
}

func newService(in Inputs, name string, selector map[string]string) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(name, "").
		WithLabels(parts.Labels(config.AppName, in.Redis.Name)).
		WithSpec(corev1ac.ServiceSpec().
			WithSelector(parts.Merge(selector, parts.SelectorLabels(config.AppName, in.Redis.Name))).
			WithPorts(corev1ac.ServicePort().
				WithName(portName).
				WithProtocol(corev1.ProtocolTCP).
				WithPort(wire.Port).
				WithTargetPort(intstr.FromString(portName))))
}

// networkPolicy lets the nodes follow each other, backups be made, and the operator look after the nodes from the
// namespace that it runs in.
func networkPolicy(in Inputs) *networkingv1ac.NetworkPolicyApplyConfiguration {
	needed := append(nodesAndOperator(in), parts.BackupPeer("redisbackup"))
	return parts.NetworkPolicy(config.AppName, in.Redis.Name, in.Redis.Spec.NetworkPolicy,
		[]networkingv1.NetworkPolicyPort{{Port: ptr.To(intstr.FromInt32(wire.Port))}}, needed...)
}

// restoreNetworkPolicy covers the pod that serves a backup, which has all data: the node that loads it and the operator reach it.
// Its name has a dot, as no object of ours has one: a Redis of the name <name>-restore has a policy of its own.
func restoreNetworkPolicy(in Inputs) *networkingv1ac.NetworkPolicyApplyConfiguration {
	return parts.InternalNetworkPolicy(RestoreAppName, in.Redis.Name, wire.Port, nodesAndOperator(in)...).
		WithName(in.Redis.Name + ".restore")
}

// nodesAndOperator are the nodes, and the operator where it runs in a pod.
func nodesAndOperator(in Inputs) []*networkingv1ac.NetworkPolicyPeerApplyConfiguration {
	nodes := networkingv1ac.NetworkPolicyPeer().WithPodSelector(parts.LabelSelector(config.AppName, in.Redis.Name))
	return append([]*networkingv1ac.NetworkPolicyPeerApplyConfiguration{nodes}, parts.OperatorPeer(in.OperatorNamespace)...)
}
