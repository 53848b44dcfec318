package source

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki/measured"
)

// tlsConfig returns the TLS configuration from the files in the directory; nil without TLS.
func tlsConfig(from backup.Source, dir string) (*tls.Config, error) {
	if !from.TLS {
		return nil, nil
	}
	authorities, err := readSecret(dir, "ca.crt")
	if err != nil {
		return nil, err
	}
	roots, err := measured.Pool(authorities)
	if err != nil {
		return nil, backup.Permanent(fmt.Errorf("ca.crt of the source: %w", err))
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	if from.ServerName != "" {
		// gRPC would require the dialled address in the certificate.
		config.InsecureSkipVerify = true //nolint:gosec // VerifyConnection does it
		config.VerifyConnection = verifyName(from.ServerName, roots)
	}
	certificate, err := readSecret(dir, "tls.crt")
	if errors.Is(err, fs.ErrNotExist) {
		return config, nil // the servers ask for none
	}
	if err != nil {
		return nil, err
	}
	key, err := readSecret(dir, "tls.key")
	if err != nil {
		return nil, err
	}
	pair, err := measured.KeyPair(certificate, key)
	if err != nil {
		return nil, backup.Permanent(fmt.Errorf("tls.crt and tls.key of the source: %w", err))
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}

// verifyName returns a function that verifies that a server's certificate has that name, whatever its address.
func verifyName(name string, roots *x509.CertPool) func(tls.ConnectionState) error {
	return func(s tls.ConnectionState) error {
		between := x509.NewCertPool()
		for _, c := range s.PeerCertificates[1:] {
			between.AddCert(c)
		}
		_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{DNSName: name, Roots: roots, Intermediates: between})
		if err != nil {
			return &tls.CertificateVerificationError{UnverifiedCertificates: s.PeerCertificates, Err: err}
		}
		return nil
	}
}

// isUntrusted reports whether the error means that the server's certificate or ours was refused, which no retry fixes.
func isUntrusted(err error) bool {
	var refused *tls.CertificateVerificationError
	var alert tls.AlertError
	return errors.As(err, &refused) || errors.As(err, &alert)
}
