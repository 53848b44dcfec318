package pki

import (
	"bytes"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki/measured"
)

// Certificates are those of one object whose certificate is in a Secret of the user's.
type Certificates struct {
	Published    Identity      // what our own Secret gives to the servers, and the operator shows
	Wanted       Identity      // what the user's Secret says, if it is of use
	Problem      string        // with the user's Secret
	RecheckAfter time.Duration // how soon to look at that again; 0 is never
}

// NextPublished returns what to publish once every server has loaded what was published
// before. When the authority changes there are steps between, each of which
// trusts the one before and is trusted by it: servers, operator and applications
// change over one by one, and none refuses another.
func (c Certificates) NextPublished(now time.Time) Identity {
	switch {
	case reflect.DeepEqual(c.Published, c.Wanted): // as at rest: nothing is parsed
		return c.Wanted
	case !c.Published.Trusts(c.Wanted, now):
		return Identity{Certificate: c.Published.Certificate, Key: c.Published.Key, Authorities: MergeAuthorities(c.Published, c.Wanted)}
	case !c.Wanted.Trusts(c.Published, now):
		return Identity{Certificate: c.Wanted.Certificate, Key: c.Wanted.Key, Authorities: MergeAuthorities(c.Wanted, c.Published)}
	}
	return c.Wanted
}

// IsRenewal reports whether the same authority vouches for the next certificate, so that no client has
// to learn to trust another. A server that does not answer holds nothing up then, least of
// all until the certificate expires by which the operator would have to reach it.
func (c Certificates) IsRenewal() bool {
	before, err := measured.Chain(c.Published.Certificate)
	after, alsoErr := measured.Chain(c.Wanted.Certificate)
	return err == nil && alsoErr == nil &&
		bytes.Equal(c.Published.Authorities, c.Wanted.Authorities) && bytes.Equal(before[0].RawIssuer, after[0].RawIssuer)
}

// Data is the content of a Secret that gives the identity to servers, under the keys of type kubernetes.io/tls and ca.crt.
func (i Identity) Data() map[string][]byte {
	return map[string][]byte{corev1.TLSCertKey: i.Certificate, corev1.TLSPrivateKeyKey: i.Key, CACertKey: i.Authorities}
}

// IsIn reports whether Data would write what is there already. It parses nothing.
func (i Identity) IsIn(data map[string][]byte) bool {
	return bytes.Equal(data[corev1.TLSCertKey], i.Certificate) && bytes.Equal(data[corev1.TLSPrivateKeyKey], i.Key) &&
		bytes.Equal(data[CACertKey], i.Authorities)
}

// PublishedIn reads what Data has written. It is empty if there is none, or somebody wrote into it.
func PublishedIn(data map[string][]byte) Identity {
	found := Identity{Certificate: data[corev1.TLSCertKey], Key: data[corev1.TLSPrivateKeyKey], Authorities: data[CACertKey]}
	if _, err := measured.KeyPair(found.Certificate, found.Key); err != nil {
		return Identity{}
	}
	return found
}
