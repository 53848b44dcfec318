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

// networkPolicies admit the peers that the user chose; to the nodes also the proxy and, with TLS, the operator, which
// makes them load certificates.
func networkPolicies(m *cachev1alpha1.Memcached, operatorNamespace string) []converge.Child {
	var requiredPeers []*networkingv1ac.NetworkPolicyPeerApplyConfiguration
	if m.Spec.TLS != nil {
		requiredPeers = parts.OperatorPeer(operatorNamespace)
	}
	if !hasProxy(m) {
		return []converge.Child{parts.NetworkPolicy(appName, m.Name, m.Spec.NetworkPolicy, nodePolicyPorts(m), requiredPeers...)}
	}
	requiredPeers = append(requiredPeers, networkingv1ac.NetworkPolicyPeer().WithPodSelector(parts.LabelSelector(proxyAppName, m.Name)))
	return []converge.Child{
		parts.NetworkPolicy(appName, m.Name, m.Spec.NetworkPolicy, nodePolicyPorts(m), requiredPeers...),
		parts.NetworkPolicy(proxyAppName, m.Name, m.Spec.NetworkPolicy, policyPorts(m.Spec.Port)).WithName(proxyName(m)),
	}
}

// nodePolicyPorts are all ports that a node listens on.
func nodePolicyPorts(m *cachev1alpha1.Memcached) []networkingv1.NetworkPolicyPort {
	open := []int32{m.Spec.Port}
	if port := plaintextPort(m); port != 0 {
		open = append(open, port)
	}
	if hasMetrics(m) {
		open = append(open, exporterPort)
	}
	return policyPorts(open...)
}

func policyPorts(ports ...int32) []networkingv1.NetworkPolicyPort {
	list := make([]networkingv1.NetworkPolicyPort, 0, len(ports))
	for _, port := range ports {
		list = append(list, networkingv1.NetworkPolicyPort{Port: ptr.To(intstr.FromInt32(port))})
	}
	return list
}
