package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"math/big"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki/measured"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

func inPEM(blockType string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: blockType, Bytes: der})
}

// keyWithoutCRT is a real RSA key that lacks its CRT values.
func keyWithoutCRT(t *testing.T) []byte {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := asn1.Marshal(struct {
		Version       int
		N             *big.Int
		E             int
		D, One, Other *big.Int
	}{0, key.N, key.E, key.D, key.Primes[0], key.Primes[1]})
	if err != nil {
		t.Fatal(err)
	}
	return inPEM("RSA PRIVATE KEY", der)
}

// What a user's Secret costs is refused by name, and what the servers already have stays in use.
func TestACostlySecretIsRefusedByName(t *testing.T) {
	by, now := authority.New("one"), time.Now()
	for _, c := range []struct {
		reason, key string
		value       []byte
		problem     string
	}{
		{"a key without CRT values", "tls.key", keyWithoutCRT(t), `Secret "chosen": tls.key: its RSA key lacks the CRT values`},
		{"a long key", "tls.key", bytes.Repeat([]byte("-"), 65<<10), `Secret "chosen": tls.key: it has 66560 bytes, and at most 65536`},
		{"a long chain", "tls.crt", bytes.Repeat(by.PEM(), 17), `Secret "chosen": tls.crt: it has 17 certificates, and at most 16`},
		{"many authorities", "ca.crt", bytes.Repeat(by.PEM(), 17), `Secret "chosen": ca.crt: it has 17 certificates, and at most 16`},
		{"long authorities", "ca.crt", bytes.Repeat([]byte("-"), 65<<10), `Secret "chosen": ca.crt: it has 66560 bytes, and at most 65536`},
		{"a key's name that is a secret", "tls.key", inPEM("PASSWORD IS X", []byte("x")), `tls.key: it has no private key in PEM`},
	} {
		t.Run(c.reason, func(t *testing.T) {
			data := issue(by)
			data[c.key] = c.value
			found, problem := FromSecret("chosen", data, []string{host}, false, now)
			if !strings.Contains(problem, c.problem) || !found.IsEmpty() || strings.Contains(problem, "PASSWORD") || len(problem) > 400 {
				t.Errorf("got %q", problem)
			}
		})
	}
}

// One authority after another was published next to the last: together they are more than one Secret of a user's may have.
func TestPublishedAuthoritiesMayBeMoreThanAUsers(t *testing.T) {
	published := identityOf(issue(authority.New("one")))
	for i := range 30 {
		published.Authorities = append(published.Authorities, authority.New(fmt.Sprint(i)).PEM()...)
	}
	if read := PublishedIn(published.Data()); read.IsEmpty() || !read.Trusts(read, time.Now()) || !read.IsIn(published.Data()) {
		t.Error("what was published is not taken any more")
	}
}

// crossSigned are as many certificates as are taken, each of which signs each other: Go tries every way through them.
func crossSigned(t *testing.T) Identity {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range 85 {
		names = append(names, fmt.Sprintf("%d.%s", i, host))
	}
	certificate := func(i int64) []byte {
		// One name for all. They differ by their SAN, or Go would see that one is in the chain already.
		template := &x509.Certificate{SerialNumber: big.NewInt(i), Subject: pkix.Name{CommonName: host},
			DNSNames:            append([]string{host, fmt.Sprint(i)}, names...),
			PermittedDNSDomains: append([]string{host, fmt.Sprint(i)}, names...), IsCA: true, BasicConstraintsValid: true,
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		return inPEM("CERTIFICATE", der)
	}
	var chain, roots []byte
	for i := range int64(measured.MaxCertificates) {
		chain, roots = append(chain, certificate(i)...), append(roots, certificate(100+i)...)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return Identity{Certificate: chain, Key: inPEM("PRIVATE KEY", der), Authorities: roots}
}

// Go ends after 100 signatures (maxChainSignatureChecks), and the limits bound what each of them costs.
func TestCertificatesThatSignEachOtherAreBounded(t *testing.T) {
	i := crossSigned(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, problem := FromSecret("chosen", i.Data(), []string{host}, true, time.Now())
	runtime.ReadMemStats(&after)
	length := len(i.Certificate) + len(i.Authorities)
	if took := int(after.TotalAlloc - before.TotalAlloc); took > 1<<20+40*length {
		t.Errorf("%d bytes are allocated for an input of %d (%s)", took, length, problem)
	}
}

// A server is any program. It shows as many certificates as TLS has room for.
func TestAServerThatShowsTooManyCertificates(t *testing.T) {
	own := identityOf(issue(authority.New("one")))
	config, err := own.TLSConfig(host, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	chain, err := measured.Chain(own.Certificate)
	if err != nil {
		t.Fatal(err)
	}
	if err := config.VerifyConnection(tls.ConnectionState{PeerCertificates: chain}); err != nil {
		t.Errorf("of one that it should show: %v", err)
	}
	for len(chain) <= measured.MaxCertificates {
		chain = append(chain, chain[0])
	}
	if err := config.VerifyConnection(tls.ConnectionState{PeerCertificates: chain}); err == nil ||
		!strings.Contains(err.Error(), "17 certificates") {
		t.Errorf("of 17: %v", err)
	}
}
