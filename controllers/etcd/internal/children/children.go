// Package children makes the objects of an EtcdCluster as they are to be, and reads from them what the plan needs to know. It is pure: the
// same inputs give the same bytes.
package children

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

// Inputs are what the children are made from.
type Inputs struct {
	Cluster              *databasev1alpha1.EtcdCluster
	Spec                 membership.Spec // of the object, resolved
	Image, LauncherImage string
	Defaults             parts.Defaults
	Version              membership.Version // that pods are made with
	InitialVersion       string             // that the cluster was formed with
	Pods                 int32
	Peers                config.PeerCertificates
	Identity             pki.Identity  // that members show to clients, with tls
	Logins               config.Logins // with auth; Published is what <name>-binding is to have
	RestartedAt          string        // when a human asked for new pods, to be kept as they wrote it
	BackupSize           int64         // of the backup to fetch, as a former pod without room has reported it; 0 if it is not known
	OperatorNamespace    string        // namespace of the manager; empty where it runs in no pod
}

// Desired are all children. What pods need to start comes before them.
func Desired(in Inputs) []converge.Child {
	list := NeededToFetch(in)
	if in.Spec.TLS != nil {
		list = append(list, certificatesSecret(in))
	}
	list = append(list, headlessService(in), clientService(in))
	if in.Spec.RequiresLogin {
		list = append(list, systemSecret(in), tokensSecret(in), backupSecret(in))
	}
	if in.Logins.HaveBinding(in.Spec, in.Cluster.Status.Membership) {
		list = append(list, bindingSecret(in))
	}
	if in.Spec.Size >= 3 || len(recordedVoters(in)) >= 2 { // also two that are left on the way to one
		list = append(list, parts.DisruptionBudget(config.AppName, in.Cluster.Name, disruption(in), policyv1.IfHealthyBudget))
	}
	list = append(list, statefulSet(in))
	if in.Cluster.Spec.NetworkPolicy != nil {
		list = append(list, networkPolicy(in), fetchNetworkPolicy(in))
	}
	if m := in.Cluster.Spec.Metrics; m != nil {
		list = append(list, parts.ServiceMonitor(config.AppName, in.Cluster.Name, &m.ServiceMonitor, metricsPort, "/metrics"))
	}
	return list
}

// NeededToFetch are the children that the pod of a backup needs.
func NeededToFetch(in Inputs) []converge.Child {
	return []converge.Child{authoritySecret(in), peersSecret(in)}
}

// disruption is none while there are fewer than three voters: of two, each is needed.
func disruption(in Inputs) *commonv1.Disruption {
	if len(recordedVoters(in)) >= 3 {
		return nil
	}
	none := intstr.FromInt32(0)
	return &commonv1.Disruption{MaxUnavailable: &none}
}

// recordedVoters are the names of the recorded members that count for the majority.
func recordedVoters(in Inputs) []string {
	var names []string
	if in.Cluster.Status.Membership != nil {
		for _, m := range in.Cluster.Status.Membership.Members {
			if m.Ran || !m.Joined {
				names = append(names, m.Name)
			}
		}
	}
	return names
}
