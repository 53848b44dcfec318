package store

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

// resolveToLoopback has every name mean 127.0.0.1 until the test ends.
func resolveToLoopback(t *testing.T) {
	t.Helper()
	before := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = before })
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go answerWithLoopback(server)
		return client, nil
	}}
}

// answerWithLoopback answers one question as a server of DNS does over TCP (RFC 1035, 4).
func answerWithLoopback(asked net.Conn) {
	defer func() { _ = asked.Close() }()
	length := make([]byte, 2)
	if _, err := io.ReadFull(asked, length); err != nil {
		return
	}
	question := make([]byte, binary.BigEndian.Uint16(length))
	if _, err := io.ReadFull(asked, question); err != nil {
		return
	}
	end := 12 // of the header
	for question[end] != 0 {
		end += 1 + int(question[end])
	}
	end += 1 + 4 // the end of the name, type and class
	answer := append([]byte{}, question[:end]...)
	copy(answer[2:], []byte{0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}) // one question, nothing else
	if queryType := binary.BigEndian.Uint16(question[end-4:]); queryType == 1 {
		answer[7] = 1
		answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 127, 0, 0, 1)
	}
	_, _ = asked.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)) //nolint:gosec // some 50 bytes
}

// named is the address of a server of this machine, by that name.
func named(t *testing.T, server *httptest.Server, name string) string {
	t.Helper()
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return address.Scheme + "://" + name + ":" + address.Port()
}

func TestTheFieldsOfAStoreAreInItsRequests(t *testing.T) {
	resolveToLoopback(t)
	requests := make(chan *http.Request, 9)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests <- r
		sayError(w, 404, "NoSuchKey", "")
	}))
	t.Cleanup(server.Close)
	login := map[string]string{"accessKeyID": "key", "secretAccessKey": "hidden"}
	for name, c := range map[string]struct {
		spec                      commonv1.S3Store
		token                     string
		host, path, scope, wanted string
	}{
		"the bucket is in the path": {commonv1.S3Store{}, "", "store.test", "/bucket/n/b/x", "/us-east-1/s3/aws4_request", ""},
		"where it is asked for": {commonv1.S3Store{PathStyle: ptr.To(true)}, "", "store.test", "/bucket/n/b/x",
			"/us-east-1/s3/aws4_request", ""},
		"in the name of the host": {commonv1.S3Store{PathStyle: ptr.To(false)}, "", "bucket.store.test", "/n/b/x",
			"/us-east-1/s3/aws4_request", ""},
		"beneath a prefix": {commonv1.S3Store{Prefix: "a/b"}, "", "store.test", "/bucket/a/b/n/b/x", "/us-east-1/s3/aws4_request",
			""},
		"a region": {commonv1.S3Store{Region: "eu-1"}, "", "store.test", "/bucket/n/b/x", "/eu-1/s3/aws4_request", ""},
		"a session, and its token alone": {commonv1.S3Store{}, "hidden-token", "store.test", "/bucket/n/b/x", "/us-east-1/s3/aws4_request",
			"hidden-token"},
	} {
		t.Run(name, func(t *testing.T) {
			c.spec.Bucket, c.spec.Endpoint, c.spec.SecretName = "bucket", named(t, server, "store.test"), "any"
			files := map[string]string{"accessKeyID": login["accessKeyID"], "secretAccessKey": login["secretAccessKey"]}
			if c.token != "" {
				files["sessionToken"] = c.token + "\n"
			}
			s, err := Open(commonv1.BackupStore{S3: &c.spec}, Places{Secret: folder(t, files)})
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := s.Get(t.Context(), "n/b/x"); err == nil || len(requests) != 1 {
				t.Fatal(len(requests), err)
			}
			seen := <-requests
			host, _, _ := net.SplitHostPort(seen.Host)
			if host != c.host || seen.URL.Path != c.path {
				t.Errorf("it asks %s for %s, want %s for %s", host, seen.URL.Path, c.host, c.path)
			}
			signature := seen.Header.Get("Authorization")
			credential, _, _ := strings.Cut(strings.TrimPrefix(signature, "AWS4-HMAC-SHA256 "), ",")
			if !strings.HasPrefix(credential, "Credential=key/") || !strings.HasSuffix(credential, c.scope) {
				t.Errorf("it signs as %q", credential)
			}
			if got := seen.Header.Get("X-Amz-Security-Token"); got != c.wanted ||
				(got != "") != strings.Contains(signature, "x-amz-security-token") {
				t.Errorf("its token is %q, and it signs %q", got, signature)
			}
		})
	}
}

// The certificate of a store is looked at. What is wrong with it is reported, and is permanent: only a human repairs it.
func TestTheCertificateOfAStore(t *testing.T) {
	resolveToLoopback(t)
	issuer := authority.New("store")
	for name, c := range map[string]struct {
		host string
		edit func(*x509.Certificate)
		want string // "": it is right
	}{
		"right":           {"store.test", func(*x509.Certificate) {}, ""},
		"of another host": {"other.test", func(*x509.Certificate) {}, "certificate is valid for other.test, not store.test"},
		"expired": {"store.test", func(c *x509.Certificate) { c.NotAfter = c.NotBefore.Add(time.Minute) },
			"certificate has expired or is not yet valid"},
		"from the future": {"store.test", func(c *x509.Certificate) { c.NotBefore = c.NotAfter.Add(-time.Minute) },
			"certificate has expired or is not yet valid"},
	} {
		t.Run(name, func(t *testing.T) {
			files := issuer.Issue(c.host, c.edit)
			certificate, err := tls.X509KeyPair(files["tls.crt"], files["tls.key"])
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter,
				_ *http.Request) {
				sayError(w, 404, "NoSuchKey", "")
			}))
			server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			server.StartTLS()
			t.Cleanup(server.Close)
			s, err := Open(commonv1.BackupStore{S3: &commonv1.S3Store{
				Bucket: "bucket", Endpoint: named(t, server, "store.test"), SecretName: "any", CASecretName: "any",
			}}, Places{
				Secret: folder(t, map[string]string{"accessKeyID": "key", "secretAccessKey": "hidden"}),
				CA:     folder(t, map[string]string{"ca.crt": string(files["ca.crt"])}),
			})
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = s.Get(t.Context(), "n/b/x")
			if c.want == "" && (err == nil || !strings.Contains(err.Error(), "NoSuchKey")) {
				t.Error(err)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !backup.IsPermanent(err)) {
				t.Errorf("permanent %v: %v", backup.IsPermanent(err), err)
			}
		})
	}
}
