package store

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"k8s.io/utils/clock"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki/measured"
)

// maxAnswer bounds an answer in bytes that is not an object's content. A page of 1000 names of 1024 bytes is the longest.
const maxAnswer = 8 << 20

// newTransport connects to an S3 server, whose certificate must be of one of the authorities; nil means the public ones.
func newTransport(authorities *x509.CertPool, progress time.Duration) http.RoundTripper {
	dialer := &net.Dialer{Timeout: connectTimeout}
	return smallAnswers{&http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			connection, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &movingConn{Conn: connection, limit: progress, clock: clock.RealClock{}}, nil
		},
		TLSClientConfig:        &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    connectTimeout,
		ResponseHeaderTimeout:  progress,
		IdleConnTimeout:        progress,
		MaxIdleConnsPerHost:    1,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // what was stored compressed comes back as it was stored
	}}
}

// movingConn is a connection that fails when neither side has sent anything for that time. Each read and write extends the deadline of
// both: while an answer is awaited, a slow upload continues.
type movingConn struct {
	net.Conn
	limit time.Duration
	clock clock.PassiveClock
}

func (m *movingConn) Read(b []byte) (int, error) {
	if err := m.extend(); err != nil {
		return 0, err
	}
	return m.Conn.Read(b)
}

func (m *movingConn) Write(b []byte) (int, error) {
	if err := m.extend(); err != nil {
		return 0, err
	}
	return m.Conn.Write(b)
}

func (m *movingConn) extend() error { return m.SetDeadline(m.clock.Now().Add(m.limit)) }

// smallAnswers cuts an answer that is not an object's content.
type smallAnswers struct{ next http.RoundTripper }

func (s smallAnswers) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := s.next.RoundTrip(request)
	if err != nil || request.Method == http.MethodGet && request.URL.RawQuery == "" {
		return answer, err
	}
	answer.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(answer.Body, maxAnswer), answer.Body}
	return answer, nil
}

// keys are the credentials in a folder of files, read at each use: the Secret of that name may change while a backup is written.
type keys struct{ name, dir string }

// RetrieveWithCredContext reads the files.
func (k keys) RetrieveWithCredContext(*credentials.CredContext) (credentials.Value, error) {
	var texts [3]string
	for i, name := range []string{"accessKeyID", "secretAccessKey", "sessionToken"} {
		text, err := readSmall(filepath.Join(k.dir, name))
		needed := i < 2
		switch {
		case errors.Is(err, fs.ErrNotExist) && !needed:
		case errors.Is(err, fs.ErrNotExist) || err == nil && text == "":
			return credentials.Value{}, backup.Permanent(fmt.Errorf("store.s3.secretName: Secret %q has no key %s", k.name, name))
		case err != nil:
			return credentials.Value{}, fmt.Errorf("store.s3.secretName: reading key %s of Secret %q: %w", name, k.name, err)
		}
		texts[i] = text
	}
	return credentials.Value{AccessKeyID: texts[0], SecretAccessKey: texts[1], SessionToken: texts[2],
		SignerType: credentials.SignatureV4}, nil
}

// Retrieve reads the files.
func (k keys) Retrieve() (credentials.Value, error) { return k.RetrieveWithCredContext(nil) }

// IsExpired is always so.
func (k keys) IsExpired() bool { return true }

// secrets are what words of the server must not repeat.
func (k keys) secrets() []string {
	value, err := k.Retrieve()
	if err != nil {
		return nil
	}
	return []string{value.SecretAccessKey, value.SessionToken}
}

// authorities of the endpoint's certificate; nil means the public ones.
func authorities(spec commonv1.S3Store, dir string) (*x509.CertPool, error) {
	if spec.CASecretName == "" {
		return nil, nil
	}
	text, err := readSmall(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("store.s3.caSecretName: reading ca.crt of Secret %q: %w", spec.CASecretName, err)
	}
	pool, err := measured.Pool([]byte(text))
	if err != nil {
		return nil, backup.Permanent(fmt.Errorf("store.s3.caSecretName: ca.crt of Secret %q: %w", spec.CASecretName, err))
	}
	return pool, nil
}

// readSmall reads a file of a Secret, which has at most 1 MiB, without the end of its line.
func readSmall(file string) (string, error) {
	opened, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = opened.Close() }()
	text, err := io.ReadAll(io.LimitReader(opened, 1<<20))
	return strings.TrimSpace(string(text)), err
}
