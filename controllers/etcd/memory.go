package etcd

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/status"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

// objectMemory is what the operator knows of one object and may forget at any time.
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
func (m *memory) node(e *databasev1alpha1.EtcdCluster, name string) (seenNode, bool) {
	known, unlock := m.Lock(e)
	defer unlock()
	seen, ok := known.nodes[name]
	return seen, ok
}

func (m *memory) noteNode(e *databasev1alpha1.EtcdCluster, name string, seen seenNode) {
	known, unlock := m.Lock(e)
	defer unlock()
	maps.DeleteFunc(known.nodes, func(_ string, old seenNode) bool { return seen.at.Sub(old.at) >= nodeMaxAge })
	if known.nodes == nil {
		known.nodes = map[string]seenNode{}
	}
	known.nodes[name] = seen
}

// report returns the status after a pass.
func (m *memory) report(in status.Inputs, now time.Time) databasev1alpha1.EtcdClusterStatus {
	known, unlock := m.Lock(in.Cluster)
	defer unlock()
	return known.history.Report(in, now)
}

func (m *memory) noteCompaction(e *databasev1alpha1.EtcdCluster, now time.Time) {
	known, unlock := m.Lock(e)
	defer unlock()
	known.compacted = now
}

// compactedLately reports whether old revisions were dropped a short time ago.
func (m *memory) compactedLately(e *databasev1alpha1.EtcdCluster, now time.Time) bool {
	known, unlock := m.Lock(e)
	defer unlock()
	return now.Sub(known.compacted) < membership.CompactionPause
}

// memory is what is known of all objects.
type memory struct{ converge.Memory[objectMemory] }

// writtenPeers are the members' certificates as they were written, and whether the cache has shown them since.
type writtenPeers struct {
	config.PeerCertificates
	shown bool
}

// peers returns the certificates that stood last, and whether they are known.
func (m *memory) peers(e *databasev1alpha1.EtcdCluster) (writtenPeers, bool) {
	known, unlock := m.Lock(e)
	defer unlock()
	if known.peers == nil {
		return writtenPeers{}, false
	}
	return *known.peers, true
}

func (m *memory) notePeers(e *databasev1alpha1.EtcdCluster, w writtenPeers) {
	known, unlock := m.Lock(e)
	defer unlock()
	known.peers = &w
}

// published returns the certificate that the members were given last, if this process gave it.
func (m *memory) published(e *databasev1alpha1.EtcdCluster) pki.Identity {
	known, unlock := m.Lock(e)
	defer unlock()
	return known.published
}

func (m *memory) notePublished(e *databasev1alpha1.EtcdCluster, i pki.Identity) {
	known, unlock := m.Lock(e)
	defer unlock()
	known.published = i
}

// deletionLag is how long the cache may show a pod as it was before the operator deleted it.
const deletionLag = 30 * time.Second

func (m *memory) noteDeleted(e *databasev1alpha1.EtcdCluster, pod types.UID, now time.Time) {
	known, unlock := m.Lock(e)
	defer unlock()
	maps.DeleteFunc(known.deleted, func(_ types.UID, at time.Time) bool { return now.Sub(at) >= deletionLag })
	if known.deleted == nil {
		known.deleted = map[types.UID]time.Time{}
	}
	known.deleted[pod] = now
}

// wasDeleted reports whether the operator has deleted that pod, which the cache may not show yet.
func (m *memory) wasDeleted(e *databasev1alpha1.EtcdCluster, pod types.UID, now time.Time) bool {
	known, unlock := m.Lock(e)
	defer unlock()
	at, deleted := known.deleted[pod]
	return deleted && now.Sub(at) < deletionLag
}
