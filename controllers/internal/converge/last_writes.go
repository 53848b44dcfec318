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

func (l *lastWrites) noteWrite(owner types.NamespacedName, child string, k lastWrite) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byOwner == nil {
		l.byOwner = map[types.NamespacedName]map[string]lastWrite{}
	}
	if l.byOwner[owner] == nil {
		l.byOwner[owner] = map[string]lastWrite{}
	}
	l.byOwner[owner][child] = k
}

func (l *lastWrites) get(owner types.NamespacedName, child string) lastWrite {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byOwner[owner][child]
}

// noteSeen notes that the cache has our last write.
func (l *lastWrites) noteSeen(owner types.NamespacedName, child string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k, known := l.byOwner[owner][child]; known {
		k.seen = true
		l.byOwner[owner][child] = k
	}
}

func (l *lastWrites) forget(owner types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byOwner, owner)
}

// isStale reports whether we wrote the object after the cache's copy of it was made.
func (l *lastWrites) isStale(owner types.NamespacedName, child string, cached client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(cached.GetResourceVersion(), l.get(owner, child).version)
	return err == nil && order < 0
}
