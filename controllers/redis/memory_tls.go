package redis

import (
	"crypto/tls"

	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
)

// published returns the identity that our own Secret holds, if this process wrote it.
func (m *memory) published(redis *cachev1alpha1.Redis) config.Identity {
	known, unlock := m.Lock(redis)
	defer unlock()
	return known.published
}

func (m *memory) notePublished(redis *cachev1alpha1.Redis, i config.Identity) {
	known, unlock := m.Lock(redis)
	defer unlock()
	known.published = i
}

// tlsConfig returns the config with which a watch connects now.
func (m *memory) tlsConfig(key types.NamespacedName, uid types.UID) *tls.Config {
	known, unlock := m.LockKnown(key, uid)
	defer unlock()
	if known == nil {
		return nil
	}
	return known.tlsConfig
}
