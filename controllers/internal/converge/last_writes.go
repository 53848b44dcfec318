package converge

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ownerItself stands for the owner itself among its children.
const ownerItself = "self"

// deletedHash stands for the hash of a child whose last write was its deletion.
const deletedHash = "removed"

// lastWrite is what our last write of an object left behind.
type lastWrite struct {
	version    string // resourceVersion that the server answered
	hash       string // of the desired state that was sent
	generation int64  // that the server answered
	seen       bool   // the cache has had it
}

// lastWrites remembers, per owner, our last write of it and of each child. It is empty after a restart, and nothing
// needs it; but an object that is older than it says is not acted on. So it must forget writes that the API server has
// lost.
type lastWrites struct {
	mu      sync.Mutex
	byOwner map[types.NamespacedName]map[string]lastWrite
}

func (m *lastWrites) record(owner types.NamespacedName, child string, k lastWrite) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byOwner == nil {
		m.byOwner = map[types.NamespacedName]map[string]lastWrite{}
	}
	if m.byOwner[owner] == nil {
		m.byOwner[owner] = map[string]lastWrite{}
	}
	m.byOwner[owner][child] = k
}

func (m *lastWrites) get(owner types.NamespacedName, child string) lastWrite {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.byOwner[owner][child]
}

// noteSeen notes that the cache has our last write.
func (m *lastWrites) noteSeen(owner types.NamespacedName, child string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k, known := m.byOwner[owner][child]; known {
		k.seen = true
		m.byOwner[owner][child] = k
	}
}

func (m *lastWrites) forget(owner types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byOwner, owner)
}

// isStale reports whether we wrote the object after the cache's copy of it was made.
func (m *lastWrites) isStale(owner types.NamespacedName, child string, cached client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(cached.GetResourceVersion(), m.get(owner, child).version)
	return err == nil && order < 0
}
