package redis

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
)

// authoritiesKey of a Secret holds the certificates that vouch for the others'.
const authoritiesKey = "ca.crt"

// identity is what a server shows to others, and by which it trusts them; in PEM.
type identity struct {
	certificate, key, authorities []byte
}

func (i identity) none() bool { return len(i.certificate) == 0 }

// version is another one for other content. The key need not be in it: the
// certificate has its public half.
func (i identity) version() string {
	return digest(string(i.certificate) + "\n" + string(i.authorities))[:16]
}

// certificates of one Redis.
type certificates struct {
	published identity // what our own Secret gives to the servers, and the operator shows
	wanted    identity // what the user's Secret says, as far as it is of use
	problem   string   // with the user's Secret
	unread    bool     // it could not be read, and is tried again
	// secure is how the operator speaks with the servers; nil is in the clear.
	secure *tls.Config
}

// next is what to publish once every server has loaded what was published
// before. When the authority changes there are steps between, each of which
// trusts the one before and is trusted by it: nodes, operator and applications
// change over one by one, and none refuses another.
func (c certificates) next(now time.Time) identity {
	switch {
	case !c.published.trusts(c.wanted, now):
		return identity{c.published.certificate, c.published.key, bundle(c.published, c.wanted)}
	case !c.wanted.trusts(c.published, now):
		return identity{c.wanted.certificate, c.wanted.key, bundle(c.wanted, c.published)}
	}
	return c.wanted
}

// renews is true when the same authority vouches for what comes next, and nobody has
// to learn to trust another: a node that does not answer holds nothing up then, least of
// all until the certificate expires by which the operator would have to reach it.
func (c certificates) renews() bool {
	before, err := parseAll(c.published.certificate)
	after, alsoErr := parseAll(c.wanted.certificate)
	return err == nil && alsoErr == nil && len(before) > 0 && len(after) > 0 &&
		bytes.Equal(c.published.authorities, c.wanted.authorities) && bytes.Equal(before[0].RawIssuer, after[0].RawIssuer)
}

// due is how soon there is something to say about them; 0 for nothing.
func (c certificates) due(now time.Time) time.Duration {
	if c.unread {
		return rereading
	}
	chain, err := parseAll(c.wanted.certificate)
	if err != nil || len(chain) == 0 || now.After(chain[0].NotAfter) {
		return 0
	}
	return chain[0].NotAfter.Sub(now) + soon // when it expires
}

// bundle is what vouches for both, each authority once.
func bundle(a, b identity) []byte {
	var all bytes.Buffer
	var seen [][]byte
	for _, block := range blocks(append(append(bytes.Clone(a.authorities), '\n'), b.authorities...)) {
		if !slices.ContainsFunc(seen, func(one []byte) bool { return bytes.Equal(one, block) }) {
			seen = append(seen, block)
			_ = pem.Encode(&all, &pem.Block{Type: "CERTIFICATE", Bytes: block}) // a buffer takes all
		}
	}
	return all.Bytes()
}

// trusts the other's certificate.
func (i identity) trusts(other identity, now time.Time) bool {
	chain, err := parseAll(other.certificate)
	return err == nil && i.vouches(chain, now, x509.ExtKeyUsageAny) == nil
}

// vouches is an error for a chain that no authority vouches for. Its age is let
// pass: who renews a certificate too late must still be able to hand it out.
func (i identity) vouches(chain []*x509.Certificate, now time.Time, use x509.ExtKeyUsage) error {
	if len(chain) == 0 {
		return errors.New("no certificate")
	}
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	roots.AppendCertsFromPEM(i.authorities)
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	if now.After(chain[0].NotAfter) {
		now = chain[0].NotAfter
	}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{use}})
	return err
}

// config is how the operator speaks with the servers. They are dialled by the
// addresses of their pods, and their certificate must name the master's Service.
func (i identity) config(host string, clock func() time.Time) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(i.certificate, i.key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:           tls.VersionTLS12,
		ServerName:           host,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil },
		InsecureSkipVerify:   true, //nolint:gosec // VerifyConnection does it, but for the age
		VerifyConnection: func(s tls.ConnectionState) error {
			if err := i.vouches(s.PeerCertificates, clock(), x509.ExtKeyUsageServerAuth); err != nil {
				return err
			}
			return s.PeerCertificates[0].VerifyHostname(host)
		},
	}, nil
}

// identityIn reads what a user's Secret holds, or tells what has to be mended.
func identityIn(r *cachev1alpha1.Redis, data map[string][]byte, now time.Time) (identity, string) {
	name := r.Spec.TLS.SecretName
	if data == nil {
		return identity{}, fmt.Sprintf("there is no Secret %q; create it with the keys %q, %q and %q",
			name, corev1.TLSCertKey, corev1.TLSPrivateKeyKey, authoritiesKey)
	}
	for _, key := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey, authoritiesKey} {
		if len(data[key]) == 0 {
			return identity{}, fmt.Sprintf("Secret %q has no key %q, or an empty one", name, key)
		}
	}
	found := identity{data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey], data[authoritiesKey]}
	if flaw := found.flaw(serviceHost(r), clientAuth(r) != cachev1alpha1.RedisClientAuthNone, now); flaw != "" {
		return identity{}, fmt.Sprintf("Secret %q: %s", name, flaw)
	}
	return found, ""
}

// flaw that would make others refuse a server which shows this, or "".
func (i identity) flaw(host string, asClient bool, now time.Time) string {
	if _, err := tls.X509KeyPair(i.certificate, i.key); err != nil {
		return "tls.crt and tls.key are not a certificate and its key: " + err.Error()
	}
	chain, err := parseAll(i.certificate)
	if err != nil {
		return "tls.crt: " + err.Error()
	}
	if authorities, err := parseAll(i.authorities); err != nil || len(authorities) == 0 {
		return "ca.crt holds something that is not a certificate, or nothing"
	}
	switch leaf := chain[0]; {
	case now.After(leaf.NotAfter):
		return "the certificate has expired on " + leaf.NotAfter.UTC().Format(time.RFC3339)
	case now.Before(leaf.NotBefore):
		return "the certificate is not valid before " + leaf.NotBefore.UTC().Format(time.RFC3339)
	case leaf.VerifyHostname(host) != nil:
		return "the certificate does not name " + host
	case i.vouches(chain, now, x509.ExtKeyUsageAny) != nil:
		return "no authority in ca.crt vouches for the certificate in tls.crt"
	case i.vouches(chain, now, x509.ExtKeyUsageServerAuth) != nil:
		return "the certificate is not for servers: its extended key usage lacks server authentication"
	case asClient && i.vouches(chain, now, x509.ExtKeyUsageClientAuth) != nil:
		return "the certificate is not for clients, as tls.clientAuth asks of replicas: its extended key usage lacks client authentication"
	}
	return ""
}

func parseAll(text []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for _, block := range blocks(text) {
		one, err := x509.ParseCertificate(block)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// blocks are the certificates of a PEM text.
func blocks(text []byte) [][]byte {
	var all [][]byte
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			all = append(all, block.Bytes)
		}
	}
	return all
}
