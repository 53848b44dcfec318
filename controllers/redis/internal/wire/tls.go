package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	"github.com/redis/go-redis/v9"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/untrusted"
)

// certificateDirective names the file of the certificate that a server presents.
const certificateDirective = "tls-cert-file"

// TLSFiles are the paths at which a server finds its certificate, its key and the authorities that it trusts.
type TLSFiles struct {
	Certificate, Key, Authorities string
}

// LoadCertificate makes the server read its certificate, its key and the authorities that
// it trusts from these files. It reports whether the server did: if not, nothing has
// changed. Connections that are open stay.
func (s *Server) LoadCertificate(ctx context.Context, files TLSFiles) (bool, error) {
	err := s.do(ctx, "CONFIG", "SET", certificateDirective, files.Certificate,
		"tls-key-file", files.Key, "tls-ca-cert-file", files.Authorities)
	var refusal redis.Error
	if errors.As(err, &refusal) {
		return false, nil
	}
	return err == nil, err
}

// tlsError is the error of a TLS handshake. Its words may repeat what the other side's certificate
// says, which can be anything.
type tlsError struct{ cause error }

func (t tlsError) Error() string { return "speaking TLS: " + untrusted.Sanitize(t.cause.Error()) }

func (t tlsError) Unwrap() error { return t.cause }

// wrapTLS speaks TLS over a connection. Without a config it returns the connection as it is.
func wrapTLS(ctx context.Context, conn net.Conn, config *tls.Config) (net.Conn, error) {
	if config == nil {
		return conn, nil
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, tlsError{err}
	}
	return secure, nil
}
