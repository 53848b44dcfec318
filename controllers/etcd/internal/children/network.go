package children

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// clientService leads to the members that are ready: voters that see a majority.
func clientService(in Inputs) *corev1ac.ServiceApplyConfiguration {
	return newService(in, in.Cluster.Name, servicePort(clientPort, wire.ClientPort))
}

// headlessService names the members, ready or not: they must find each other before they are.
func headlessService(in Inputs) *corev1ac.ServiceApplyConfiguration {
	service := newService(in, in.Spec.HeadlessName(), servicePort(clientPort, wire.ClientPort), servicePort(peerPort, wire.PeerPort),
		servicePort(metricsPort, wire.MetricsPort))
	service.Spec.WithClusterIP(corev1.ClusterIPNone).WithPublishNotReadyAddresses(true)
	return service
}

func newService(in Inputs, name string, ports ...*corev1ac.ServicePortApplyConfiguration) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(name, "").
		WithLabels(parts.Labels(config.AppName, in.Cluster.Name)).
		WithSpec(corev1ac.ServiceSpec().WithSelector(parts.SelectorLabels(config.AppName, in.Cluster.Name)).WithPorts(ports...))
}

func servicePort(name string, number int32) *corev1ac.ServicePortApplyConfiguration {
	return corev1ac.ServicePort().WithName(name).WithProtocol(corev1.ProtocolTCP).WithPort(number).WithTargetPort(intstr.FromString(name))
}

// networkPolicy lets the members reach each other, backups be made, and the operator look after the members from the namespace that
// it runs in.
func networkPolicy(in Inputs) *networkingv1ac.NetworkPolicyApplyConfiguration {
	members := networkingv1ac.NetworkPolicyPeer().WithPodSelector(parts.LabelSelector(config.AppName, in.Cluster.Name))
	operators := parts.OperatorPeer(in.OperatorNamespace)
	client, metrics := intstr.FromInt32(wire.ClientPort), intstr.FromInt32(wire.MetricsPort)
	open := []networkingv1.NetworkPolicyPort{{Port: &client}}
	if in.Cluster.Spec.Metrics != nil {
		open = append(open, networkingv1.NetworkPolicyPort{Port: &metrics})
	}
	policy := parts.NetworkPolicy(config.AppName, in.Cluster.Name, in.Cluster.Spec.NetworkPolicy, open,
		append(operators, members, parts.BackupPeer("etcdbackup"))...)
	policy.Spec.WithIngress(admit(wire.PeerPort, members))
	if len(operators) > 0 { // a rule without peers would be one for everybody
		policy.Spec.WithIngress(admit(wire.MetricsPort, operators...)) // which show what a member has that waits for a majority
	}
	return policy
}

// fetchNetworkPolicy covers the pods of backups, which have all data: only members load it. It is there before an EtcdRestore is.
// Its name has a dot, as no object of ours has one: an EtcdCluster of the name <name>-restore has a policy of its own.
func fetchNetworkPolicy(in Inputs) *networkingv1ac.NetworkPolicyApplyConfiguration {
	return parts.InternalNetworkPolicy(config.FetchAppName, in.Cluster.Name, backup.ServePort,
		networkingv1ac.NetworkPolicyPeer().WithPodSelector(parts.LabelSelector(config.AppName, in.Cluster.Name))).
		WithName(in.Cluster.Name + ".restore")
}

// admit is the rule that lets these peers reach that port.
func admit(
	port int32, peers ...*networkingv1ac.NetworkPolicyPeerApplyConfiguration,
) *networkingv1ac.NetworkPolicyIngressRuleApplyConfiguration {
	return networkingv1ac.NetworkPolicyIngressRule().WithFrom(peers...).
		WithPorts(networkingv1ac.NetworkPolicyPort().WithPort(intstr.FromInt32(port)))
}
