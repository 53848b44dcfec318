// Package authority makes certificates for tests and for the local cluster.
package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"
)

// valid for so long, and since so long ago, is what is issued. An authority
// itself is so twice as long.
const valid = time.Hour

// Authority vouches for the certificates that it issues.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// New makes an authority of that name. Edits may change what its certificate says.
func New(name string, edits ...func(*x509.Certificate)) *Authority {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:  x509.KeyUsageCertSign,
		NotBefore: time.Now().Add(-valid), NotAfter: time.Now().Add(2 * valid),
	}
	for _, edit := range edits {
		edit(template)
	}
	raw := must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))
	return &Authority{certificate: must(x509.ParseCertificate(raw)), key: key}
}

// PEM is its own certificate.
func (a *Authority) PEM() []byte { return encode("CERTIFICATE", a.certificate.Raw) }

// Key is the key to it, in PEM.
func (a *Authority) Key() []byte { return encodeKey(a.key) }

// Issue makes a certificate that names a host, for servers and clients, and the
// key to it, as the data of a Secret. Edits may change what it says.
func (a *Authority) Issue(host string, edits ...func(*x509.Certificate)) map[string][]byte {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: host}, SerialNumber: must(rand.Int(rand.Reader, big.NewInt(1<<62))), DNSNames: []string{host},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		NotBefore:   time.Now().Add(-valid), NotAfter: time.Now().Add(valid),
	}
	for _, edit := range edits {
		edit(template)
	}
	return map[string][]byte{
		"tls.crt": encode("CERTIFICATE", must(x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key))),
		"tls.key": encodeKey(key),
		"ca.crt":  a.PEM(),
	}
}

func encodeKey(key *ecdsa.PrivateKey) []byte {
	return encode("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(key)))
}

func encode(kind string, raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw})
}

// must is for what cannot fail with these arguments.
func must[T any](made T, err error) T {
	if err != nil {
		panic(err)
	}
	return made
}
