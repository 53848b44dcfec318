package memcached

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

// memory is what the operator may forget at any time: it reads the Secrets and looks
// at the nodes once more then.
type memory struct {
	mu      sync.Mutex
	objects map[types.NamespacedName]*remembered
}

type remembered struct {
	uid      types.UID
	contents map[string]*converge.Content // of the user's Secrets, by name
	visits   map[types.UID]visit          // of the pods, for the certificate's sake
	gave     given
}

// given is what our own Secrets say. Read but once, it stands when somebody writes into them.
type given struct {
	identity pki.Identity
	users    known
}

// of gives the memory of one object, empty when it is another of the same name.
func (m *memory) of(owner *cachev1alpha1.Memcached) *remembered {
	key := types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name}
	if known := m.objects[key]; known != nil && known.uid == owner.UID {
		return known
	}
	if m.objects == nil {
		m.objects = map[types.NamespacedName]*remembered{}
	}
	m.objects[key] = &remembered{uid: owner.UID, contents: map[string]*converge.Content{}}
	return m.objects[key]
}

func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, key)
}

// contents of the user's Secrets as they were read last, by name.
func (m *memory) contents(owner *cachev1alpha1.Memcached) map[string]*converge.Content {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(owner).contents
}

func (m *memory) given(owner *cachev1alpha1.Memcached) given {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(owner).gave
}

func (m *memory) noteGiven(owner *cachev1alpha1.Memcached, gave given) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(owner).gave = gave
}

// visits of the pods, each the last.
func (m *memory) visits(owner *cachev1alpha1.Memcached) map[types.UID]visit {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(owner).visits
}

// noteVisits leaves the pods out that are gone.
func (m *memory) noteVisits(owner *cachev1alpha1.Memcached, visits map[types.UID]visit) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(owner).visits = visits
}
