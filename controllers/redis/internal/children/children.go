// Package children makes the objects of a Redis as they are to be. It is pure: the same inputs give the same bytes.
package children

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
)

// Inputs are what the children are made from.
type Inputs struct {
	Redis             *cachev1alpha1.Redis
	Spec              config.Spec // of the object, resolved
	Credentials       config.Credentials
	Settings          config.Settings
	Image             string
	Defaults          parts.Defaults
	VolumeSize        resource.Quantity // of new nodes: a StatefulSet cannot change it
	Replicas          int32
	Identity          config.Identity // of the servers, with TLS
	BackupSize        int64           // of the backup that is fetched, in bytes, if a node had no room for it; else 0
	RestartedAt       string          // when a human asked for new pods, to be kept as they wrote it
	OperatorNamespace string          // namespace of the manager; empty where it runs in no pod
}

// Desired are all children. The route to the master comes first, as it is all that clients wait for
// after a failover.
func Desired(in Inputs) []converge.Child {
	var list []converge.Child
	if in.Redis.Status.Master != "" {
		list = append(list, masterService(in))
	}
	// Passwords and certificates are kept before anything can start with them.
	if in.Spec.TLS {
		list = append(list, certificatesSecret(in))
	}
	list = append(list, systemSecret(in), filesSecret(in), backupSecret(in))
	if in.Credentials.Published.Password != "" {
		list = append(list, bindingSecret(in))
	}
	list = append(list, headlessService(in), replicasService(in), statefulSet(in))
	if in.Spec.Size >= 2 {
		list = append(list, parts.DisruptionBudget(config.AppName, in.Redis.Name, in.Redis.Spec.Disruption, policyv1.IfHealthyBudget))
	}
	if in.Redis.Spec.NetworkPolicy != nil {
		list = append(list, networkPolicy(in))
		if in.Spec.Bootstrap != nil {
			list = append(list, restoreNetworkPolicy(in))
		}
	}
	return list
}
