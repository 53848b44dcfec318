package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki/measured"
)

const (
	// authorityLife is for how long an authority vouches for others, leafLife for how long a certificate of its own is valid.
	authorityLife, leafLife = 10 * 365 * 24 * time.Hour, 365 * 24 * time.Hour
	// clockSkew is how far behind the clock of a peer that checks a new authority may be.
	clockSkew = 5 * time.Minute
)

// Authority issues certificates for servers that only know each other.
type Authority struct {
	Certificate, Key []byte // in PEM
}

// NewAuthority returns a new authority with a key of its own, valid for ten years (authorityLife).
func NewAuthority(name string, now time.Time) (Authority, error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-clockSkew), NotAfter: now.Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	certificate, key, err := sign(template, nil, nil)
	if err != nil {
		return Authority{}, fmt.Errorf("making an authority: %w", err)
	}
	return Authority{certificate, key}, nil
}

// Parse returns the authority's certificate; nil if the authority can issue none, for it is not there or its key is another's.
func (a Authority) Parse() *x509.Certificate { return ParsePair(a.Certificate, a.Key) }

// ParsePair returns the certificate that the key belongs to; nil if either is missing, or is another's.
func ParsePair(certificate, key []byte) *x509.Certificate {
	pair, err := measured.KeyPair(certificate, key)
	if err != nil {
		return nil
	}
	return pair.Leaf
}

// IsDue reports whether an authority is to be replaced: less than a third of its life is left.
func IsDue(c *x509.Certificate, now time.Time) bool {
	return c.NotAfter.Sub(now) < c.NotAfter.Sub(c.NotBefore)/3
}

// IsLeafDue reports whether a certificate that Issue has made is to be replaced: less than a third of its life is left, or it was
// issued by a clock that was ahead.
func IsLeafDue(leaf *x509.Certificate, now time.Time) bool {
	return leaf.NotAfter.Sub(now) < leafLife/3 || now.Add(clockSkew).Before(IssuedAt(leaf))
}

// IssuedAt returns when Issue has made a certificate. NotBefore does not say it: that is the authority's.
func IssuedAt(leaf *x509.Certificate) time.Time { return leaf.NotAfter.Add(-leafLife) }

// Fingerprint is a short name of exactly this certificate.
func Fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])[:16]
}

// Fingerprints are those of all certificates of a PEM text; none if it cannot be read.
func Fingerprints(text []byte) []string {
	var all []string
	certificates, _ := measured.Bundle(text)
	for _, certificate := range certificates {
		all = append(all, Fingerprint(certificate))
	}
	return all
}

// Issue returns a certificate for servers of these names, or for clients if there is none, and its key. It is valid for a
// year (leafLife) from now, and before that since the authority is: who trusts the authority accepts its certificates at once, even
// if the clock that issued them is ahead. The error says that the authority cannot be read.
func (a Authority) Issue(commonName string, hosts []string, now time.Time) (certificate, key []byte, err error) {
	own, err := measured.KeyPair(a.Certificate, a.Key)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the authority: %w", err)
	}
	ownKey, is := own.PrivateKey.(*ecdsa.PrivateKey)
	if !is {
		return nil, nil, errors.New("the authority's key is not one of ECDSA")
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: commonName}, DNSNames: hosts, NotBefore: own.Leaf.NotBefore, NotAfter: now.Add(leafLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	return sign(template, own.Leaf, ownKey)
}

// sign makes a key and the certificate for it, by itself if there is no parent.
func sign(template, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (certificate, key []byte, err error) {
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if parent == nil {
		parent, parentKey = template, own
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &own.PublicKey, parentKey)
	if err != nil {
		return nil, nil, err
	}
	secret, err := x509.MarshalECPrivateKey(own)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}), nil
}
