package etcd

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/status"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

// objectMemory is what the operator knows of one object and may forget at any time. It belongs to the object's pass, of which only one
// runs at a time.
type objectMemory struct {
	peers *writtenPeers // nil if none were written or read yet
	// published is the certificate that our own Secret gives to the members, with tls; empty if none was written yet.
	published pki.Identity
	// deleted are the pods that were deleted shortly before, and when.
	deleted map[types.UID]time.Time
	// history is what the status depends on.
	history status.History
	// logins as they were read or made last, with auth; access is when etcd was last seen to let in who may.
	logins      config.Logins
	access      time.Time
	isLockedOut bool
	// refusals of the pod that was last to be evicted.
	refusals refusals
	// compacted is when old revisions were last dropped.
	compacted time.Time
	// nodes of pods that report no start, as they were read last.
	nodes map[string]seenNode
}

// node is what a node said when it was asked last.
func (o *objectMemory) node(name string) (seenNode, bool) {
	seen, ok := o.nodes[name]
	return seen, ok
}

func (o *objectMemory) noteNode(name string, seen seenNode) {
	maps.DeleteFunc(o.nodes, func(_ string, old seenNode) bool { return seen.at.Sub(old.at) >= nodeMaxAge })
	if o.nodes == nil {
		o.nodes = map[string]seenNode{}
	}
	o.nodes[name] = seen
}

// compactedLately reports whether old revisions were dropped a short time ago.
func (o *objectMemory) compactedLately(now time.Time) bool {
	return now.Sub(o.compacted) < membership.CompactionPause
}

// memory is what is known of all objects.
type memory struct{ converge.Memory[objectMemory] }

// writtenPeers are the members' certificates as they were written, and whether the cache has shown them since.
type writtenPeers struct {
	config.PeerCertificates
	shown bool
}

// deletionLag is how long the cache may show a pod as it was before the operator deleted it.
const deletionLag = 30 * time.Second

func (o *objectMemory) noteDeleted(pod types.UID, now time.Time) {
	maps.DeleteFunc(o.deleted, func(_ types.UID, at time.Time) bool { return now.Sub(at) >= deletionLag })
	if o.deleted == nil {
		o.deleted = map[types.UID]time.Time{}
	}
	o.deleted[pod] = now
}

// wasDeleted reports whether the operator has deleted that pod, which the cache may not show yet.
func (o *objectMemory) wasDeleted(pod types.UID, now time.Time) bool {
	at, deleted := o.deleted[pod]
	return deleted && now.Sub(at) < deletionLag
}
