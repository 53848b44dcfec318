package redis

import (
	"crypto/tls"

	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
)

// published returns the identity that our own Secret holds, if this process wrote it.
func (m *memory) published(redis *cachev1alpha1.Redis) config.Identity {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.get(redis).published
}

func (m *memory) notePublished(redis *cachev1alpha1.Redis, i config.Identity) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.get(redis).published = i
}

// TLSConfig returns the config with which a watch connects now.
func (m *memory) tlsConfig(key types.NamespacedName, uid types.UID) *tls.Config {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.objects[key]; known != nil && known.uid == uid {
		return known.tlsConfig
	}
	return nil
}
