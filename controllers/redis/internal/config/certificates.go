package config

import (
	"crypto/tls"
	"time"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

// Identity is the certificate that a server shows to others, with the authorities by which it trusts them.
type Identity = pki.Identity

// Certificates are those of one Redis.
type Certificates struct {
	pki.Certificates
	// TLSConfig is how the operator speaks with the servers; nil is in the clear.
	TLSConfig *tls.Config
}

// IdentityIn reads the identity from a user's Secret, or says what has to be repaired.
func (s Spec) IdentityIn(data map[string][]byte, now time.Time) (Identity, string) {
	return pki.FromSecret(s.TLSSecret, data, []string{s.ServiceHost()}, s.ClientAuth != cachev1alpha1.RedisClientAuthNone, now)
}
