// Package measured parses certificates and keys that users give. It measures each before it computes with it: the time that Go
// needs for a key grows with the cube of its length, while other tenants wait. All other packages use this one to parse them. It is pure.
package measured

import (
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

const (
	// MaxBytes is the length of a PEM text of a user's: a chain of MaxCertificates with RSA keys of 4096 bits has half of that.
	MaxBytes = 64 << 10
	// MaxCertificates of such a text. A chain has 2 or 3, and ca.crt two more while an authority is replaced.
	MaxCertificates = 16
	// MaxRSABits of a key, in a certificate or of one's own: crypto/tls computes with no longer one of a peer
	// (defaultMaxRSAKeySize in handshake_client.go).
	MaxRSABits = 8192
	// maxBundle is the length of a text of authorities that was put together from several, or of those of the whole world: that of
	// a Secret.
	maxBundle = 1 << 20
)

// ErrRefused is of everything that was measured and not computed with.
var ErrRefused = errors.New("it is too long or incomplete")

// refusal is an ErrRefused in other words.
type refusal string

func (r refusal) Error() string   { return string(r) }
func (r refusal) Is(e error) bool { return e == ErrRefused }

func refusef(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// KeyPair is tls.X509KeyPair of two texts that keep within MaxBytes, MaxCertificates and MaxRSABits. The error names tls.crt or
// tls.key if it is about one of them, and repeats nothing of the key.
func KeyPair(certificate, key []byte) (tls.Certificate, error) {
	if _, err := Chain(certificate); err != nil {
		return tls.Certificate{}, fmt.Errorf("tls.crt: %w", err)
	}
	if err := checkKey(key); err != nil {
		return tls.Certificate{}, fmt.Errorf("tls.key: %w", err)
	}
	return tls.X509KeyPair(certificate, key)
}

// Chain returns the certificates of a user's text: at least one and at most MaxCertificates, in at most MaxBytes.
func Chain(text []byte) ([]*x509.Certificate, error) {
	if err := checkLength(text, MaxBytes); err != nil {
		return nil, err
	}
	blocks := Blocks(text)
	switch {
	case len(blocks) == 0:
		return nil, errors.New("it has no certificate in PEM")
	case len(blocks) > MaxCertificates:
		return nil, refusef("it has %d certificates, and at most %d are used: leave out those that are not needed", len(blocks), MaxCertificates)
	}
	return parseAll(blocks)
}

// Bundle returns all certificates of a text that the operator has put together from users' (at most 1 MiB); none if it has none.
func Bundle(text []byte) ([]*x509.Certificate, error) {
	if err := checkLength(text, maxBundle); err != nil {
		return nil, err
	}
	return parseAll(Blocks(text))
}

// Pool returns the authorities of a text of at most 1 MiB. As x509.CertPool.AppendCertsFromPEM does, it leaves out what cannot be
// parsed: bundles of the world's authorities have such. The error says that there is none, or that one has too long a key.
func Pool(text []byte) (*x509.CertPool, error) {
	if err := checkLength(text, maxBundle); err != nil {
		return nil, err
	}
	pool, found := x509.NewCertPool(), false
	for _, block := range Blocks(text) {
		certificate, err := parse(block)
		if errors.Is(err, ErrRefused) {
			return nil, err
		}
		if err == nil {
			pool.AddCert(certificate)
			found = true
		}
	}
	if !found {
		return nil, errors.New("it has no certificate")
	}
	return pool, nil
}

func parseAll(blocks [][]byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for _, block := range blocks {
		certificate, err := parse(block)
		if err != nil {
			return nil, err
		}
		all = append(all, certificate)
	}
	return all, nil
}

// parse reads a certificate. The time to read it grows with its length; only a signature by its key would take longer.
func parse(block []byte) (*x509.Certificate, error) {
	certificate, err := x509.ParseCertificate(block)
	if err != nil {
		return nil, err
	}
	if public, is := certificate.PublicKey.(*rsa.PublicKey); is && public.N.BitLen() > MaxRSABits {
		return nil, tooLong(public.N.BitLen())
	}
	return certificate, nil
}

func tooLong(bits int) error {
	return refusef("it has an RSA key of %d bits, and at most %d are used: make one of 2048 to 4096 bits", bits, MaxRSABits)
}

func checkLength(text []byte, most int) error {
	if len(text) > most {
		return refusef("it has %d bytes, and at most %d are read", len(text), most)
	}
	return nil
}

// Blocks returns the certificates of a PEM text, as they are.
func Blocks(text []byte) [][]byte {
	var all [][]byte
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			all = append(all, block.Bytes)
		}
	}
	return all
}

// privateKey returns the first key of a PEM text, which is the one that crypto/tls uses; nil if there is none.
func privateKey(text []byte) *pem.Block {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "PRIVATE KEY" || strings.HasSuffix(block.Type, " PRIVATE KEY") {
			return block
		}
	}
	return nil
}
