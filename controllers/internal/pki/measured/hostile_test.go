package measured

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"slices"
	"testing"
	"time"

	attacks "github.com/mainstay-operator/mainstay-operator/test/hostile"
)

// hostile is a Secret of type kubernetes.io/tls that costs more than its length, or is none.
type hostile struct {
	name             string
	certificate, key []byte
	says             string
	refused          bool // by what was measured, before anything is computed
}

func must[T any](made T, err error) T {
	if err != nil {
		panic(err)
	}
	return made
}

func inPEM(blockType string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: blockType, Bytes: der})
}

func pkcs8(algorithm asn1.ObjectIdentifier, key []byte) []byte {
	return must(asn1.Marshal(struct {
		Version   int
		Algorithm pkix.AlgorithmIdentifier
		Key       []byte
	}{0, pkix.AlgorithmIdentifier{Algorithm: algorithm, Parameters: asn1.NullRawValue}, key}))
}

// certificate of a public key, by an authority whose key is a small one.
func certificate(public any, edits ...func(*x509.Certificate)) []byte {
	by := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a"}, DNSNames: []string{"a"},
		NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour)}
	for _, edit := range edits {
		edit(template)
	}
	if public == nil {
		public = by.Public()
	}
	return inPEM("CERTIFICATE", must(x509.CreateCertificate(rand.Reader, template, template, public, by)))
}

func hostileIdentities(t testing.TB) []hostile {
	good := readFixture(t, "rsa-pkcs8.crt")
	key := func(name string, der []byte, says string) hostile {
		return hostile{name, good, inPEM("RSA PRIVATE KEY", der), says, true}
	}
	real := must(x509.ParsePKCS8PrivateKey(must2(pem.Decode(readFixture(t, "rsa-pkcs8.key"))).Bytes)).(*rsa.PrivateKey)
	realFields := []any{0, real.N, real.E, real.D, real.Primes[0], real.Primes[1]}
	zero := big.NewInt(0)
	other := asn1.ObjectIdentifier{1, 2, 840, 10040, 4, 1} // DSA
	return []hostile{
		key("a real key without its CRT values", attacks.PKCS1(realFields...), "tls.key: its RSA key lacks the CRT values"),
		key("a real key with CRT values that are zero", attacks.PKCS1(append(slices.Clone(realFields), zero, zero, zero)...),
			"lacks the CRT values"),
		key("a real key with two of three CRT values",
			attacks.PKCS1(append(slices.Clone(realFields), attacks.Number(1024), attacks.Number(1024))...), "lacks the CRT values"),
		key("a key of 8192 bits without CRT values", attacks.PKCS1(attacks.RSANumbers(8192, attacks.WithoutCRT)...), "lacks the CRT values"),
		key("a key of 40000 bits without CRT values", attacks.PKCS1(attacks.RSANumbers(40_000, attacks.WithoutCRT)...),
			"tls.key: it has an RSA key of 40000 bits"),
		key("a key of 40000 bits with CRT values", attacks.PKCS1(attacks.RSANumbers(40_000, 9)...), "an RSA key of 40000 bits, and at most 8192"),
		key("a key of 8194 bits", attacks.PKCS1(attacks.RSANumbers(8194, 9)...), "an RSA key of 8194 bits"),
		key("a short modulus with long primes", attacks.PKCS1(0, attacks.Number(2048), 65537, attacks.Number(2048), attacks.Number(150_000),
			attacks.Number(150_000), attacks.Number(9), attacks.Number(9), attacks.Number(9)), "longer than its modulus"),
		key("a short modulus with a long private exponent",
			attacks.PKCS1(0, attacks.Number(2048), 65537, attacks.Number(300_000), attacks.Number(1024), attacks.Number(1024), attacks.Number(9),
				attacks.Number(9), attacks.Number(9)), "longer than its modulus"),
		key("a short modulus with a long public exponent",
			attacks.PKCS1(0, attacks.Number(2048), attacks.Number(300_000), attacks.Number(2048), attacks.Number(1024), attacks.Number(1024),
				attacks.Number(9), attacks.Number(9), attacks.Number(9)), "longer than its modulus"),
		key("a key of many primes", attacks.PKCS1(append(append([]any{1}, attacks.RSANumbers(8192, 9)[1:]...),
			attacks.Sequence([]any{attacks.Sequence([]any{attacks.Number(99), attacks.Number(99),
				attacks.Number(99)})}))...), "more than two primes"),
		key("more fields than any key has", attacks.PKCS1(slices.Repeat([]any{attacks.Number(8)}, 10_000)...), "no private key in the form"),
		key("numbers that are none", attacks.PKCS1(0, "a", "b", "c", "d", "e", "f", "g", "h"), "no private key in the form"),
		key("a sequence of nothing", attacks.PKCS1(), "no private key in the form"),
		key("no sequence", []byte{4, 0}, "no private key in the form"),
		key("a length beyond the end", []byte{0x30, 0x84, 0x7f, 0xff, 0xff, 0xff}, "no private key in the form"),
		key("nested sequences", bytes.Repeat([]byte{0x30, 0x80}, 20_000), "no private key in the form"),
		{"PKCS #8 around a long key", good, inPEM("PRIVATE KEY", pkcs8(oidRSA, attacks.PKCS1(attacks.RSANumbers(40_000, attacks.WithoutCRT)...))),
			"an RSA key of 40000 bits", true},
		{"PKCS #8 around a key without CRT values", good, inPEM("PRIVATE KEY", pkcs8(oidRSA, attacks.PKCS1(realFields...))),
			"lacks the CRT values", true},
		{"PKCS #8 around nothing", good, inPEM("PRIVATE KEY", pkcs8(oidRSA, nil)), "no private key in the form", true},
		{"PKCS #8 around a key that TLS does not use", good, inPEM("PRIVATE KEY", pkcs8(other, nil)), "of a kind that TLS does not use", true},
		{"a long key behind what is none", good, append(inPEM("EC PARAMETERS", []byte{6, 0}),
			inPEM("ANY PRIVATE KEY", attacks.PKCS1(attacks.RSANumbers(40_000, attacks.WithoutCRT)...))...), "an RSA key of 40000 bits", true},
		{"a key in 65 KiB of words", good, append(bytes.Repeat([]byte("words\n"), 11_000), readFixture(t, "rsa-pkcs8.key")...),
			"tls.key: it has 67", true},
		{"an encrypted key", good, inPEM("ENCRYPTED PRIVATE KEY", []byte("secret")), "tls.key: its private key is encrypted", false},
		{"no key", good, good, "tls.key: it has no private key", false},
		{"a curve's number of 45 KB", good, inPEM("EC PRIVATE KEY", attacks.PKCS1(1, make([]byte, 45_000))), "failed to parse private key",
			false},
		{"a certificate of a long key", certificate(&rsa.PublicKey{N: attacks.Number(300_000), E: 65537}), readFixture(t, "rsa-pkcs8.key"),
			"tls.crt: it has an RSA key of 300000 bits", true},
		{"an authority with a long key", append(slices.Clone(good), certificate(&rsa.PublicKey{N: attacks.Number(16_384), E: 1<<31 - 1})...),
			readFixture(t, "rsa-pkcs8.key"), "an RSA key of 16384 bits", true},
		{"17 certificates", bytes.Repeat(good, 17), readFixture(t, "rsa-pkcs8.key"), "tls.crt: it has 17 certificates, and at most 16", true},
		{"1000 certificates that are none", bytes.Repeat(inPEM("CERTIFICATE", nil), 1000), readFixture(t, "rsa-pkcs8.key"), "1000 certificates",
			true},
		{"a certificate with 3000 names", certificate(nil, func(c *x509.Certificate) {
			c.DNSNames = slices.Repeat([]string{"a.b.c.d.e"}, 3000)
		}), readFixture(t, "rsa-pkcs8.key"), "private key type does not match", false},
		{"a certificate in 65 KiB of words", append(bytes.Repeat([]byte("words\n"), 11_000), good...), readFixture(t, "rsa-pkcs8.key"),
			"tls.crt: it has 67", true},
		{"no certificate", []byte("words"), readFixture(t, "rsa-pkcs8.key"), "tls.crt: it has no certificate", false},
	}
}

func must2(block *pem.Block, _ []byte) *pem.Block { return block }
