package converge

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// self is the place of the owner itself in its memory, beside its children.
const self = "self"

// removed stands for the hash of a child whose last write was its deletion.
const removed = "removed"

// mark is what our last write of an object left behind.
type mark struct {
	version    string // resourceVersion that the server answered
	hash       string // of the desired state that was sent
	generation int64  // that the server answered
	shown      bool   // the cache has had it
}

// memory knows, per owner, our last write of it and of each child. It is empty after a
// restart, and nothing needs it; but while it is there nothing is done to an object that is
// older than it says. What it says of writes that the API server has lost must go.
type memory struct {
	mu    sync.Mutex
	marks map[types.NamespacedName]map[string]mark
}

func (m *memory) note(owner types.NamespacedName, place string, k mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.marks == nil {
		m.marks = map[types.NamespacedName]map[string]mark{}
	}
	if m.marks[owner] == nil {
		m.marks[owner] = map[string]mark{}
	}
	m.marks[owner][place] = k
}

func (m *memory) of(owner types.NamespacedName, place string) mark {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.marks[owner][place]
}

// show notes that the cache has our last write.
func (m *memory) show(owner types.NamespacedName, place string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k, known := m.marks[owner][place]; known {
		k.shown = true
		m.marks[owner][place] = k
	}
}

func (m *memory) forget(owner types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.marks, owner)
}

// newer is true when we wrote the object after the cache's copy of it was made.
func (m *memory) newer(owner types.NamespacedName, place string, cached client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(cached.GetResourceVersion(), m.of(owner, place).version)
	return err == nil && order < 0
}
