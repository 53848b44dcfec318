package redis

import (
	"bytes"
	"crypto/tls"
	"time"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

// identity is the certificate that a server shows to others, with the authorities by which it trusts them.
type identity = pki.Identity

// certificates are those of one Redis.
type certificates struct {
	published    identity      // what our own Secret gives to the servers, and the operator shows
	wanted       identity      // what the user's Secret says, as far as it is of use
	problem      string        // with the user's Secret
	recheckAfter time.Duration // how soon to look at that again; 0 is never
	// tlsConfig is how the operator speaks with the servers; nil is in the clear.
	tlsConfig *tls.Config
}

// nextIdentity returns what to publish once every server has loaded what was published
// before. When the authority changes there are steps between, each of which
// trusts the one before and is trusted by it: nodes, operator and applications
// change over one by one, and none refuses another.
func (c certificates) nextIdentity(now time.Time) identity {
	switch {
	case !c.published.Trusts(c.wanted, now):
		return identity{Certificate: c.published.Certificate, Key: c.published.Key, Authorities: pki.MergeAuthorities(c.published, c.wanted)}
	case !c.wanted.Trusts(c.published, now):
		return identity{Certificate: c.wanted.Certificate, Key: c.wanted.Key, Authorities: pki.MergeAuthorities(c.wanted, c.published)}
	}
	return c.wanted
}

// isRenewal reports whether the same authority vouches for the next certificate, so that nobody has
// to learn to trust another. A node that does not answer holds nothing up then, least of
// all until the certificate expires by which the operator would have to reach it.
func (c certificates) isRenewal() bool {
	before, err := pki.ParseCertificates(c.published.Certificate)
	after, alsoErr := pki.ParseCertificates(c.wanted.Certificate)
	return err == nil && alsoErr == nil && len(before) > 0 && len(after) > 0 &&
		bytes.Equal(c.published.Authorities, c.wanted.Authorities) && bytes.Equal(before[0].RawIssuer, after[0].RawIssuer)
}

// identityIn reads the identity from a user's Secret, or says what has to be mended.
func (s spec) identityIn(data map[string][]byte, now time.Time) (identity, string) {
	return pki.FromSecret(s.TLSSecret, data, s.serviceHost(), s.ClientAuth != cachev1alpha1.RedisClientAuthNone, now)
}
