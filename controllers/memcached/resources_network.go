package memcached

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// policies let those in that were chosen; to the nodes also the proxy, and the operator
// where it hands certificates out.
func policies(m *cachev1alpha1.Memcached, operator string) []converge.Child {
	var needed []*networkingv1ac.NetworkPolicyPeerApplyConfiguration
	if m.Spec.TLS != nil {
		needed = parts.Operator(operator)
	}
	if !proxied(m) {
		return []converge.Child{parts.NetworkPolicy(kind, m.Name, m.Spec.NetworkPolicy, nodePorts(m), needed...)}
	}
	needed = append(needed, networkingv1ac.NetworkPolicyPeer().WithPodSelector(parts.Select(proxyKind, m.Name)))
	return []converge.Child{
		parts.NetworkPolicy(kind, m.Name, m.Spec.NetworkPolicy, nodePorts(m), needed...),
		parts.NetworkPolicy(proxyKind, m.Name, m.Spec.NetworkPolicy, numbers(m.Spec.Port)).WithName(proxyName(m)),
	}
}

// nodePorts are all that a node listens on.
func nodePorts(m *cachev1alpha1.Memcached) []networkingv1.NetworkPolicyPort {
	open := []int32{m.Spec.Port}
	if port := plaintext(m); port != 0 {
		open = append(open, port)
	}
	if measured(m) {
		open = append(open, exporterPort)
	}
	return numbers(open...)
}

func numbers(ports ...int32) []networkingv1.NetworkPolicyPort {
	list := make([]networkingv1.NetworkPolicyPort, 0, len(ports))
	for _, port := range ports {
		list = append(list, networkingv1.NetworkPolicyPort{Port: ptr.To(intstr.FromInt32(port))})
	}
	return list
}
