// Package s3 runs a real S3 server for tests, over TLS on loopback: versitygw, which hack/tools builds into .bin.
package s3

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

const (
	// Bucket that every server has.
	Bucket = "backups"
	// AccessKeyID that every server takes.
	AccessKeyID = "test"
	// SecretAccessKey that every server takes.
	SecretAccessKey = "test-secret-access-key"
)

// Server is one that runs.
type Server struct {
	// Endpoint is its URL.
	Endpoint string
	// SecretDir has the credentials and CADir the authority, as files like those in a runner's pod.
	SecretDir, CADir string
	// Client is another one of the same bucket.
	Client *minio.Client

	dir     string
	process *exec.Cmd
	input   io.Closer
}

// Start runs the program until Stop is called or this process ends.
func Start(program string) (*Server, error) {
	dir, err := os.MkdirTemp("", "s3-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, SecretDir: filepath.Join(dir, "secret"), CADir: filepath.Join(dir, "ca")}
	if err := s.start(program); err != nil {
		s.Stop()
		return nil, fmt.Errorf("starting versitygw: %w; `make test-programs` builds it", err)
	}
	return s, nil
}

// Stop ends the server, and removes what it has stored.
func (s *Server) Stop() {
	if s.process != nil {
		_ = s.input.Close()
		_ = s.process.Process.Kill()
		_ = s.process.Wait()
	}
	_ = os.RemoveAll(s.dir)
}

// Store is the bucket, and the objects in it whose names start with the prefix.
func (s *Server) Store(prefix string) commonv1.BackupStore {
	return commonv1.BackupStore{S3: &commonv1.S3Store{
		Bucket: Bucket, Prefix: prefix, Endpoint: s.Endpoint, SecretName: "any", CASecretName: "any",
	}}
}

func (s *Server) start(program string) error {
	// No two processes have the same address: tests of several checkouts may run at once.
	address := fmt.Sprintf("127.%d.%d.%d:7070", 64+os.Getpid()>>16&63, os.Getpid()>>8&255, os.Getpid()&255)
	ca := authority.New("s3")
	served := ca.Issue("localhost", func(c *x509.Certificate) {
		host, _, _ := net.SplitHostPort(address)
		c.IPAddresses = []net.IP{net.ParseIP(host)}
	})
	for name, content := range map[string][]byte{
		"secret/accessKeyID": []byte(AccessKeyID), "secret/secretAccessKey": []byte(SecretAccessKey + "\n"), "ca/ca.crt": ca.PEM(),
		"tls.crt": served["tls.crt"], "tls.key": served["tls.key"], "buckets/.keep": nil, "attributes/.keep": nil,
	} {
		file := filepath.Join(s.dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return err
		}
	}
	if err := s.run(program, address); err != nil {
		return err
	}
	s.Endpoint = "https://" + address
	return s.makeBucket(address, ca.PEM())
}

// run returns when the server listens.
func (s *Server) run(program, address string) error {
	s.process = exec.Command(program, "--address="+address, "--folder="+filepath.Join(s.dir, "buckets"), //nolint:gosec // our own program
		"--attributes="+filepath.Join(s.dir, "attributes"),
		"--tls-cert-file="+filepath.Join(s.dir, "tls.crt"), "--tls-private-key-file="+filepath.Join(s.dir, "tls.key"))
	s.process.Env = append(os.Environ(), "ACCESS_KEY_ID="+AccessKeyID, "SECRET_ACCESS_KEY="+SecretAccessKey)
	s.process.Stderr = os.Stderr
	input, err := s.process.StdinPipe()
	if err != nil {
		return err
	}
	s.input = input
	output, err := s.process.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.process.Start(); err != nil {
		s.process = nil
		return err
	}
	_, err = bufio.NewReader(output).ReadString('\n')
	return err
}

func (s *Server) makeBucket(address string, authorities []byte) error {
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authorities)
	client, err := minio.New(address, &minio.Options{
		Creds: credentials.NewStaticV4(AccessKeyID, SecretAccessKey, ""), Secure: true, Region: "us-east-1",
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}},
	})
	if err != nil {
		return err
	}
	s.Client = client
	return client.MakeBucket(context.Background(), Bucket, minio.MakeBucketOptions{})
}
