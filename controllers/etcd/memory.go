package etcd

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/fleet"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/status"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

// objectMemory is what the operator knows of one object and may forget at any time. It belongs to the object's pass, of which only one
// runs at a time.
type objectMemory struct {
	members fleet.Memory
	peers   *writtenPeers // nil if none were written or read yet
	// published is the certificate that our own Secret gives to the members, with tls; empty if none was written yet.
	published pki.Identity
	// deleted are the pods and backups that were deleted shortly before.
	deleted deletions
	// backupSizes are those of backups for which a node had no room, in bytes, by the EtcdRestore that asks for them; "" is spec.bootstrap.
	backupSizes map[types.UID]int64
	// history is what the status depends on.
	history status.History
	// logins as they were read or made last, with auth.
	logins config.Logins
	// refusals of the pod that was last to be evicted.
	refusals refusals
	// nodes of pods that report no start, as they were read last.
	nodes nodes
}

// memory is what is known of all objects.
type memory struct{ converge.Memory[objectMemory] }
