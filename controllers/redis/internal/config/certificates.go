package config

import (
	"bytes"
	"crypto/tls"
	"time"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

// Identity is the certificate that a server shows to others, with the authorities by which it trusts them.
type Identity = pki.Identity

// Certificates are those of one Redis.
type Certificates struct {
	Published    Identity      // what our own Secret gives to the servers, and the operator shows
	Wanted       Identity      // what the user's Secret says, as far as it is of use
	Problem      string        // with the user's Secret
	RecheckAfter time.Duration // how soon to look at that again; 0 is never
	// TLSConfig is how the operator speaks with the servers; nil is in the clear.
	TLSConfig *tls.Config
}

// NextIdentity returns what to publish once every server has loaded what was published
// before. When the authority changes there are steps between, each of which
// trusts the one before and is trusted by it: nodes, operator and applications
// change over one by one, and none refuses another.
func (c Certificates) NextIdentity(now time.Time) Identity {
	switch {
	case !c.Published.Trusts(c.Wanted, now):
		return Identity{Certificate: c.Published.Certificate, Key: c.Published.Key, Authorities: pki.MergeAuthorities(c.Published, c.Wanted)}
	case !c.Wanted.Trusts(c.Published, now):
		return Identity{Certificate: c.Wanted.Certificate, Key: c.Wanted.Key, Authorities: pki.MergeAuthorities(c.Wanted, c.Published)}
	}
	return c.Wanted
}

// IsRenewal reports whether the same authority vouches for the next certificate, so that nobody has
// to learn to trust another. A node that does not answer holds nothing up then, least of
// all until the certificate expires by which the operator would have to reach it.
func (c Certificates) IsRenewal() bool {
	before, err := pki.ParseCertificates(c.Published.Certificate)
	after, alsoErr := pki.ParseCertificates(c.Wanted.Certificate)
	return err == nil && alsoErr == nil && len(before) > 0 && len(after) > 0 &&
		bytes.Equal(c.Published.Authorities, c.Wanted.Authorities) && bytes.Equal(before[0].RawIssuer, after[0].RawIssuer)
}

// IdentityIn reads the identity from a user's Secret, or says what has to be mended.
func (s Spec) IdentityIn(data map[string][]byte, now time.Time) (Identity, string) {
	return pki.FromSecret(s.TLSSecret, data, s.ServiceHost(), s.ClientAuth != cachev1alpha1.RedisClientAuthNone, now)
}
