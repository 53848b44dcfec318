package parts

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// OperatorPeer returns the manager in its namespace: the labels of its pods alone could be anybody's. It returns nil
// where the manager does not run in a pod, since no policy can name it.
func OperatorPeer(namespace string) []*networkingv1ac.NetworkPolicyPeerApplyConfiguration {
	if namespace == "" {
		return nil
	}
	return []*networkingv1ac.NetworkPolicyPeerApplyConfiguration{networkingv1ac.NetworkPolicyPeer().
		WithNamespaceSelector(metav1ac.LabelSelector().WithMatchLabels(map[string]string{corev1.LabelMetadataName: namespace})).
		WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(operatorLabels))}
}

// BackupPeer returns the pods that make backups, of the namespace: appName is the value of their label app.kubernetes.io/name.
func BackupPeer(appName string) *networkingv1ac.NetworkPolicyPeerApplyConfiguration {
	return networkingv1ac.NetworkPolicyPeer().WithPodSelector(metav1ac.LabelSelector().
		WithMatchLabels(map[string]string{LabelName: appName, LabelManagedBy: ManagedBy}))
}

// NetworkPolicy admits the chosen peers, or else the pods of the namespace, and the peers that the kind itself needs. ports
// are those of the containers.
func NetworkPolicy(appName, instance string, chosen *commonv1.NetworkPolicy, ports []networkingv1.NetworkPolicyPort,
	needed ...*networkingv1ac.NetworkPolicyPeerApplyConfiguration) *networkingv1ac.NetworkPolicyApplyConfiguration {
	rule := networkingv1ac.NetworkPolicyIngressRule().
		WithFrom(ToApplyConfigs[networkingv1ac.NetworkPolicyPeerApplyConfiguration](chosen.From)...).
		WithFrom(needed...).
		WithPorts(ToApplyConfigs[networkingv1ac.NetworkPolicyPortApplyConfiguration](ports)...)
	if len(chosen.From) == 0 {
		rule.WithFrom(networkingv1ac.NetworkPolicyPeer().WithPodSelector(metav1ac.LabelSelector()))
	}
	policy := closedNetworkPolicy(appName, instance)
	if len(ports) > 0 { // a rule without ports would be one for all of them
		policy.Spec.WithIngress(rule)
	}
	return policy
}

// InternalNetworkPolicy admits only these peers, of which there must be one, to one port of the pods of a kind that no client uses.
func InternalNetworkPolicy(appName, instance string, port int32,
	needed ...*networkingv1ac.NetworkPolicyPeerApplyConfiguration) *networkingv1ac.NetworkPolicyApplyConfiguration {
	policy := closedNetworkPolicy(appName, instance)
	policy.Spec.WithIngress(networkingv1ac.NetworkPolicyIngressRule().WithFrom(needed...).
		WithPorts(networkingv1ac.NetworkPolicyPort().WithPort(intstr.FromInt32(port))))
	return policy
}

// closedNetworkPolicy admits no client.
func closedNetworkPolicy(appName, instance string) *networkingv1ac.NetworkPolicyApplyConfiguration {
	return networkingv1ac.NetworkPolicy(instance, "").WithLabels(Labels(appName, instance)).WithSpec(networkingv1ac.NetworkPolicySpec().
		WithPodSelector(LabelSelector(appName, instance)).
		WithPolicyTypes(networkingv1.PolicyTypeIngress))
}
