package memcached

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

// volatileState is what the operator may forget at any time: it then reads the Secrets and asks the nodes again.
type volatileState struct {
	mu      sync.Mutex
	objects map[types.NamespacedName]*objectState
}

type objectState struct {
	uid       types.UID
	contents  map[string]*converge.Content   // of the user's Secrets, by name
	probes    map[types.UID]certificateProbe // the last of each pod, by its UID
	published publishedSecrets
}

// publishedSecrets is what our own Secrets say. They are read only once, so it stands when somebody writes into them.
type publishedSecrets struct {
	identity pki.Identity
	users    userList
}

// stateOf returns the state of one object, empty when what is known is of another one of the same name.
func (m *volatileState) stateOf(owner *cachev1alpha1.Memcached) *objectState {
	key := types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name}
	if known := m.objects[key]; known != nil && known.uid == owner.UID {
		return known
	}
	if m.objects == nil {
		m.objects = map[types.NamespacedName]*objectState{}
	}
	m.objects[key] = &objectState{uid: owner.UID, contents: map[string]*converge.Content{}}
	return m.objects[key]
}

func (m *volatileState) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, key)
}

// contents returns the user's Secrets as they were read last, by name.
func (m *volatileState) contents(owner *cachev1alpha1.Memcached) map[string]*converge.Content {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stateOf(owner).contents
}

func (m *volatileState) published(owner *cachev1alpha1.Memcached) publishedSecrets {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stateOf(owner).published
}

func (m *volatileState) setPublished(owner *cachev1alpha1.Memcached, gave publishedSecrets) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stateOf(owner).published = gave
}

// probes returns the last probe of each pod, by the pod's UID.
func (m *volatileState) probes(owner *cachev1alpha1.Memcached) map[types.UID]certificateProbe {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stateOf(owner).probes
}

// setProbes replaces all probes, and so drops those of pods that are gone.
func (m *volatileState) setProbes(owner *cachev1alpha1.Memcached, visits map[types.UID]certificateProbe) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stateOf(owner).probes = visits
}
