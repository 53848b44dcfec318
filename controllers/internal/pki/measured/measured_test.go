package measured

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	attacks "github.com/mainstay-operator/mainstay-operator/test/hostile"
)

func readFixture(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata/openssl", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// allocated counts the bytes that a function allocates. Arithmetic with long numbers allocates far more than they are long.
func allocated(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// budget is what parsing a text of that length may allocate, in bytes. A real key of 8192 bits takes a third of the constant.
func budget(length int) int { return 1<<20 + 30*length }

func TestACostlyIdentityIsRefusedBeforeArithmetic(t *testing.T) {
	for _, c := range hostileIdentities(t) {
		t.Run(c.name, func(t *testing.T) {
			var err error
			took := allocated(func() { _, err = KeyPair(c.certificate, c.key) })
			if err == nil || !strings.Contains(err.Error(), c.says) || errors.Is(err, ErrRefused) != c.refused {
				t.Errorf("got %v", err)
			}
			if length := len(c.certificate) + len(c.key); took > budget(length) {
				t.Errorf("%d bytes are allocated for an input of %d", took, length)
			}
		})
	}
}

func TestEachIdentityOfOpenSSLIsTaken(t *testing.T) {
	keys, err := filepath.Glob("testdata/openssl/*.key")
	if err != nil || len(keys) < 6 {
		t.Fatal(keys, err)
	}
	for _, key := range keys {
		name := strings.TrimSuffix(filepath.Base(key), ".key")
		t.Run(name, func(t *testing.T) {
			pair, err := KeyPair(readFixture(t, name+".crt"), readFixture(t, name+".key"))
			if err != nil || pair.Leaf.Subject.CommonName != name {
				t.Errorf("got %v", err)
			}
		})
	}
}

// cert-manager, cfssl and step write keys by Go's own functions.
func TestEachFormOfKeyThatGoWritesIsTaken(t *testing.T) {
	curve := must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader))
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	modular := must(rsa.GenerateKey(rand.Reader, 2048))
	for name, c := range map[string]struct{ certificate, key []byte }{
		"RSA in PKCS #1":     {certificate(modular.Public()), inPEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(modular))},
		"RSA in PKCS #8":     {certificate(modular.Public()), inPEM("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(modular)))},
		"ECDSA in SEC 1":     {certificate(curve.Public()), inPEM("EC PRIVATE KEY", must(x509.MarshalECPrivateKey(curve)))},
		"ECDSA in PKCS #8":   {certificate(curve.Public()), inPEM("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(curve)))},
		"Ed25519 in PKCS #8": {certificate(edwards.Public()), inPEM("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(edwards)))},
		"with 15 authorities": {slices.Concat(certificate(curve.Public()), bytes.Repeat(readFixture(t, "rsa-pkcs1.crt"), 15)),
			inPEM("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(curve)))},
	} {
		if _, err := KeyPair(c.certificate, c.key); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAuthoritiesOfABundle(t *testing.T) {
	good, long := readFixture(t, "rsa-pkcs8.crt"), certificate(&rsa.PublicKey{N: attacks.Number(8193), E: 65537})
	for name, c := range map[string]struct {
		text         []byte
		pool, bundle string // "" for no error
		all          int
	}{
		"one":                       {good, "", "", 1},
		"as many as the world's":    {bytes.Repeat(good, 200), "", "", 200},
		"one that cannot be parsed": {append(inPEM("CERTIFICATE", []byte("odd")), good...), "", "malformed certificate", 0},
		"one with a long key":       {append(slices.Clone(good), long...), "RSA key of 8193 bits", "RSA key of 8193 bits", 0},
		"none":                      {[]byte("words"), "it has no certificate", "", 0},
		"more than a Secret has":    {bytes.Repeat(good, 1000), "at most 1048576 are read", "at most 1048576 are read", 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Pool(c.text)
			if (c.pool == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.pool) {
				t.Errorf("Pool: %v", err)
			}
			all, err := Bundle(c.text)
			if (c.bundle == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.bundle) || len(all) != c.all {
				t.Errorf("Bundle: %d, %v", len(all), err)
			}
		})
	}
}

// FuzzKeyPair looks for a key that is taken for another form of key than crypto/tls takes it for, and so is not measured.
func FuzzKeyPair(f *testing.F) {
	for _, c := range hostileIdentities(f) {
		f.Add(c.certificate, c.key)
	}
	keys, _ := filepath.Glob("testdata/openssl/*.key")
	for _, key := range keys {
		name := strings.TrimSuffix(filepath.Base(key), ".key")
		f.Add(readFixture(f, name+".crt"), readFixture(f, name+".key"))
	}
	f.Fuzz(func(t *testing.T, certificate, key []byte) {
		var pair tls.Certificate
		var err error
		if took := allocated(func() { pair, err = KeyPair(certificate, key) }); took > 4*budget(len(certificate)+len(key)) {
			t.Errorf("%d bytes are allocated for an input of %d", took, len(certificate)+len(key))
		}
		if private, is := pair.PrivateKey.(*rsa.PrivateKey); err == nil && is {
			if private.N.BitLen() > MaxRSABits || len(private.Primes) != 2 {
				t.Errorf("a key of %d bits and %d primes is taken", private.N.BitLen(), len(private.Primes))
			}
		}
		if errors.Is(err, ErrRefused) && len(key) < 4<<10 && len(certificate) < 4<<10 { // short enough to be tried in full
			if pair, alsoErr := tls.X509KeyPair(certificate, key); alsoErr == nil && !hasNoCRT(err) {
				t.Errorf("a pair of %T is refused: %v", pair.PrivateKey, err)
			}
		}
	})
}

// hasNoCRT reports whether a key that Go itself would take, for a price, was refused for what it lacks.
func hasNoCRT(err error) bool { return errors.Is(err, errNoCRT) || errors.Is(err, errMultiPrime) }
