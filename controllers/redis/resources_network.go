package redis

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// masterService points at one pod by name: one write changes it, and it never points at two. The operator knows
// that this pod serves; the pod's readiness, which is probed every few seconds, comes later.
func masterService(r *cachev1alpha1.Redis) *corev1ac.ServiceApplyConfiguration {
	s := newService(r, r.Name, map[string]string{labelPod: r.Status.Master})
	s.Spec.WithPublishNotReadyAddresses(true)
	return withExposure(r, s)
}

// replicasService is for reading.
func replicasService(r *cachev1alpha1.Redis, spec config.Spec) *corev1ac.ServiceApplyConfiguration {
	return withExposure(r, newService(r, spec.ReplicasName(), map[string]string{topology.LabelRole: topology.RoleReplica}))
}

// withExposure exposes a Service as the spec has it.
func withExposure(r *cachev1alpha1.Redis, s *corev1ac.ServiceApplyConfiguration) *corev1ac.ServiceApplyConfiguration {
	s.Spec.WithType(cmp.Or(r.Spec.Service.Type, corev1.ServiceTypeClusterIP))
	return s.WithAnnotations(r.Spec.Service.Annotations)
}

// headlessService names the nodes, ready or not.
func headlessService(r *cachev1alpha1.Redis, spec config.Spec) *corev1ac.ServiceApplyConfiguration {
	service := newService(r, spec.HeadlessName(), nil)
	service.Spec.WithClusterIP(corev1.ClusterIPNone).WithPublishNotReadyAddresses(true)
	return service
}

func newService(r *cachev1alpha1.Redis, name string, selector map[string]string) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(name, "").
		WithLabels(parts.Labels(appName, r.Name)).
		WithSpec(corev1ac.ServiceSpec().
			WithSelector(parts.Merge(selector, parts.SelectorLabels(appName, r.Name))).
			WithPorts(corev1ac.ServicePort().
				WithName(portName).
				WithProtocol(corev1.ProtocolTCP).
				WithPort(wire.Port).
				WithTargetPort(intstr.FromString(portName))))
}

// networkPolicy lets the nodes follow each other, backups be made, and the operator look after the nodes from the
// namespace that it runs in.
func networkPolicy(r *cachev1alpha1.Redis, operator string) *networkingv1ac.NetworkPolicyApplyConfiguration {
	needed := append([]*networkingv1ac.NetworkPolicyPeerApplyConfiguration{
		networkingv1ac.NetworkPolicyPeer().WithPodSelector(parts.LabelSelector(appName, r.Name)),
	}, append(parts.OperatorPeer(operator), parts.BackupPeer("redisbackup"))...)
	return parts.NetworkPolicy(appName, r.Name, r.Spec.NetworkPolicy,
		[]networkingv1.NetworkPolicyPort{{Port: ptr.To(intstr.FromInt32(wire.Port))}}, needed...)
}
