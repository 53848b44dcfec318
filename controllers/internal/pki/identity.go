// Package pki judges certificates, says whom they trust, and issues those of servers that only know each other. It has no client
// and no clock. It is pure, but for new keys and serial numbers, which are random.
package pki

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki/measured"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/untrusted"
)

const (
	// CACertKey is the key of a Secret that holds the certificates which vouch for the others'.
	CACertKey = "ca.crt"
	// validityMargin is how long after a time in a certificate the change has surely come: a certificate has whole
	// seconds, and is still valid in the last.
	validityMargin = time.Second
)

// Identity is what a server shows to others, and whom it trusts; in PEM.
type Identity struct {
	// Certificate includes what leads to its authority; Key belongs to it; Authorities are those it trusts.
	Certificate, Key, Authorities []byte
}

// IsEmpty reports whether there is no certificate.
func (i Identity) IsEmpty() bool { return len(i.Certificate) == 0 }

// ContentHash differs when the content does. It need not include the key: the certificate has its public half.
func (i Identity) ContentHash() string {
	sum := sha256.Sum256([]byte(string(i.Certificate) + "\n" + string(i.Authorities)))
	return hex.EncodeToString(sum[:])[:16]
}

// FromSecret returns what a user's Secret of that name holds, or says what has to be fixed. The certificate must name
// each of the hosts, and with asClient it must be good for showing to servers, too.
func FromSecret(name string, data map[string][]byte, hosts []string, asClient bool, now time.Time) (Identity, string) {
	if data == nil {
		return Identity{}, fmt.Sprintf("there is no Secret %q; create it with the keys %q, %q and %q",
			name, corev1.TLSCertKey, corev1.TLSPrivateKeyKey, CACertKey)
	}
	for _, key := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey, CACertKey} {
		if len(data[key]) == 0 {
			return Identity{}, fmt.Sprintf("Secret %q has no key %q, or an empty one", name, key)
		}
	}
	found := Identity{data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey], data[CACertKey]}
	if flaw := found.validate(hosts, asClient, now); flaw != "" {
		return Identity{}, fmt.Sprintf("Secret %q: %s", name, flaw)
	}
	return found, ""
}

// NextChange returns how soon the verdict on a user's Secret may change: a moment after one of its certificates becomes valid
// or expires. 0 means never.
func NextChange(data map[string][]byte, now time.Time) time.Duration {
	var next time.Duration
	for _, key := range []string{corev1.TLSCertKey, CACertKey} {
		chain, _ := measured.Bundle(data[key]) // which no time makes good, when it cannot be read
		for _, certificate := range chain {
			for _, turn := range []time.Time{certificate.NotBefore, certificate.NotAfter} {
				if left := turn.Add(validityMargin).Sub(now); left > 0 && (next == 0 || left < next) {
					next = left
				}
			}
		}
	}
	return next
}

// MergeAuthorities returns the authorities that vouch for either identity, each once.
func MergeAuthorities(a, b Identity) []byte {
	var all bytes.Buffer
	seen := map[string]bool{}
	for _, block := range measured.Blocks(append(append(bytes.Clone(a.Authorities), '\n'), b.Authorities...)) {
		if !seen[string(block)] {
			seen[string(block)] = true
			_ = pem.Encode(&all, &pem.Block{Type: "CERTIFICATE", Bytes: block}) // a buffer takes all
		}
	}
	return all.Bytes()
}

// SelectAuthorities returns those authorities that have one of these fingerprints.
func SelectAuthorities(authorities []byte, fingerprints []string) []byte {
	var selected bytes.Buffer
	all, _ := measured.Bundle(authorities) // none of what cannot be read
	for _, authority := range all {
		if slices.Contains(fingerprints, Fingerprint(authority)) {
			_ = pem.Encode(&selected, &pem.Block{Type: "CERTIFICATE", Bytes: authority.Raw}) // a buffer takes all
		}
	}
	return selected.Bytes()
}

// Trusts reports whether an authority of this identity vouches for the other's certificate.
func (i Identity) Trusts(other Identity, now time.Time) bool {
	chain, err := measured.Chain(other.Certificate)
	return err == nil && i.verify(chain, now, x509.ExtKeyUsageAny) == nil
}

// verify returns an error for a chain that no authority vouches for. It accepts an expired certificate: a user who
// renews it too late must still be able to hand the new one out.
func (i Identity) verify(chain []*x509.Certificate, now time.Time, use x509.ExtKeyUsage) error {
	if len(chain) == 0 || len(chain) > measured.MaxCertificates {
		return fmt.Errorf("%d certificates instead of 1 to %d", len(chain), measured.MaxCertificates)
	}
	roots, err := measured.Pool(i.Authorities)
	if err != nil {
		return fmt.Errorf("ca.crt: %w", err)
	}
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	if now.After(chain[0].NotAfter) {
		now = chain[0].NotAfter
	}
	_, err = chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{use}})
	return err
}

// TLSConfig returns how the operator talks to a server. It dials servers by the addresses of their pods, and the certificate
// must name the host.
func (i Identity) TLSConfig(host string, clock func() time.Time) (*tls.Config, error) {
	pair, err := measured.KeyPair(i.Certificate, i.Key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:           tls.VersionTLS12,
		ServerName:           host,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil },
		InsecureSkipVerify:   true, //nolint:gosec // VerifyConnection does it, but for the age
		VerifyConnection: func(s tls.ConnectionState) error {
			if err := i.verify(s.PeerCertificates, clock(), x509.ExtKeyUsageServerAuth); err != nil {
				return err
			}
			return s.PeerCertificates[0].VerifyHostname(host)
		},
	}, nil
}

// validate returns why others would refuse a server that shows this identity, or "".
func (i Identity) validate(hosts []string, asClient bool, now time.Time) string {
	_, err := measured.KeyPair(i.Certificate, i.Key)
	switch {
	case errors.Is(err, measured.ErrRefused):
		return untrusted.Sanitize(err.Error())
	case err != nil:
		return "tls.crt and tls.key are not a certificate and its key: " + untrusted.Sanitize(err.Error())
	}
	switch _, err := measured.Chain(i.Authorities); {
	case errors.Is(err, measured.ErrRefused):
		return "ca.crt: " + untrusted.Sanitize(err.Error())
	case err != nil:
		return "ca.crt holds something that is not a certificate, or nothing"
	}
	chain, err := measured.Chain(i.Certificate)
	if err != nil {
		return "tls.crt: " + untrusted.Sanitize(err.Error())
	}
	unnamed := slices.IndexFunc(hosts, func(host string) bool { return chain[0].VerifyHostname(host) != nil })
	switch leaf := chain[0]; {
	case now.After(leaf.NotAfter):
		return "the certificate has expired on " + leaf.NotAfter.UTC().Format(time.RFC3339)
	case now.Before(leaf.NotBefore):
		return "the certificate is not valid before " + leaf.NotBefore.UTC().Format(time.RFC3339)
	case unnamed >= 0:
		return "the certificate does not name " + hosts[unnamed]
	case i.verify(chain, now, x509.ExtKeyUsageAny) != nil:
		return "no authority in ca.crt vouches for the certificate in tls.crt"
	case i.verify(chain, now, x509.ExtKeyUsageServerAuth) != nil:
		return "the certificate is not for servers: its extended key usage lacks server authentication"
	case asClient && i.verify(chain, now, x509.ExtKeyUsageClientAuth) != nil:
		return "the certificate is not for clients, as tls.clientAuth asks for: its extended key usage lacks client authentication"
	}
	return ""
}
