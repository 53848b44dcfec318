package memcached

import (
	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

// objectMemory is what the operator knows of one object and may forget at any time: it then reads the Secrets and asks
// the nodes again.
type objectMemory struct {
	probes    map[types.UID]certificateProbe // the last of each pod, by its UID
	published publishedSecrets
}

// publishedSecrets is what our own Secrets say. They are read only once, so it stands when somebody writes into them.
type publishedSecrets struct {
	identity pki.Identity
	users    userList
}

// memory is what is known of all objects.
type memory struct{ converge.Memory[objectMemory] }

func (m *memory) published(owner *cachev1alpha1.Memcached) publishedSecrets {
	known, unlock := m.Lock(owner)
	defer unlock()
	return known.published
}

func (m *memory) setPublished(owner *cachev1alpha1.Memcached, published publishedSecrets) {
	known, unlock := m.Lock(owner)
	defer unlock()
	known.published = published
}

// probes returns the last probe of each pod, by the pod's UID.
func (m *memory) probes(owner *cachev1alpha1.Memcached) map[types.UID]certificateProbe {
	known, unlock := m.Lock(owner)
	defer unlock()
	return known.probes
}

// setProbes replaces all probes, and so drops those of pods that are gone.
func (m *memory) setProbes(owner *cachev1alpha1.Memcached, probes map[types.UID]certificateProbe) {
	known, unlock := m.Lock(owner)
	defer unlock()
	known.probes = probes
}
