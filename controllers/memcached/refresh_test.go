package memcached

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

// served speaks as memcached does of its certificate: it reads the files when it is told to.
type served struct {
	mu       sync.Mutex
	loaded   *tls.Certificate // nil takes no new connection
	file     map[string][]byte
	broken   int // so often it finds half of what it reads
	told     int
	user     string // with the password, whom alone it listens to; "" for everybody
	asks     tls.ClientAuthType
	trusts   []byte
	listener net.Listener
}

func serve(t *testing.T, node *served) *served {
	t.Helper()
	node.loaded = pair(t, node.file)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(node.trusts)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		MinVersion: tls.VersionTLS12, ClientAuth: node.asks, ClientCAs: pool,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			node.mu.Lock()
			defer node.mu.Unlock()
			if node.loaded == nil {
				return nil, errors.New("no certificate")
			}
			return node.loaded, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	node.listener = listener
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			go node.talk(conn)
		}
	}()
	return node
}

func (s *served) talk(conn net.Conn) {
	defer conn.Close() //nolint:errcheck // a test's
	in := s.user == ""
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		answer := ""
		switch {
		case strings.HasPrefix(lines.Text(), "set ") && lines.Scan():
			if in = lines.Text() == s.user; in {
				answer = "STORED\r\n"
			} else {
				answer = "CLIENT_ERROR authentication failure\r\n"
			}
		case !in:
			answer = "CLIENT_ERROR unauthenticated\r\n"
		case lines.Text() == "refresh_certs":
			answer = s.read()
		}
		_, _ = conn.Write([]byte(answer))
	}
}

func (s *served) read() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told++
	if s.broken > 0 {
		s.broken--
		s.loaded = nil
		return "Error loading the key: key values mismatch\r\n"
	}
	loaded, err := tls.X509KeyPair(s.file["tls.crt"], s.file["tls.key"])
	if err != nil {
		return err.Error() + "\r\n"
	}
	s.loaded = &loaded
	return "OK\r\n"
}

func pair(t *testing.T, data map[string][]byte) *tls.Certificate {
	t.Helper()
	loaded, err := tls.X509KeyPair(data["tls.crt"], data["tls.key"])
	if err != nil {
		t.Fatal(err)
	}
	return &loaded
}

func TestLoad(t *testing.T) {
	by := authority.New("one")
	old, renewed := by.Issue(host), by.Issue(host)
	forServers := by.Issue(host, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })
	for _, c := range []struct {
		reason string
		start  *served
		brings map[string][]byte // by the kubelet, before it is told
		wanted map[string][]byte
		auth   cachev1alpha1.MemcachedClientAuth
		users  []string
		told   int
		words  string
	}{
		{"serves it", &served{file: renewed}, nil, renewed, "", nil, 0, ""},
		{"told", &served{file: old}, renewed, renewed, "", nil, 1, ""},
		{"not brought yet", &served{file: old}, nil, renewed, "", nil, 1, "has not brought"},
		{"half of each is read, and the open connection saves it", &served{file: old, broken: 2}, renewed, renewed, "", nil, 3, ""},
		{"never whole", &served{file: old, broken: 100}, renewed, renewed, "", nil, halves, "key values mismatch"},
		{"shows ours where it must", &served{file: old, asks: tls.RequireAndVerifyClientCert, trusts: by.PEM()}, renewed, renewed,
			cachev1alpha1.MemcachedClientAuthRequire, nil, 1, ""},
		{"shows none where it need not: ours is for servers", &served{file: old, asks: tls.VerifyClientCertIfGiven, trusts: by.PEM()}, forServers, forServers,
			cachev1alpha1.MemcachedClientAuthRequest, nil, 1, ""},
		{"lets in who it knows, which may be but one of them", &served{file: old, user: "app old"}, renewed, renewed, "",
			[]string{"app:new", "app:old"}, 1, ""},
		{"knows none of them", &served{file: old, user: "app other"}, renewed, renewed, "", []string{"app:new"}, 0, "unauthenticated"},
		{"is another's", &served{file: authority.New("two").Issue(host)}, nil, renewed, "", nil, 0, "unknown authority"},
		{"names another", &served{file: by.Issue("b.n.svc")}, nil, renewed, "", nil, 0, "b.n.svc"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			node := serve(t, c.start)
			if c.brings != nil {
				node.file = c.brings
			}
			m := secured(func(over *cachev1alpha1.MemcachedTLS) { over.ClientAuth = c.auth })
			err := load(context.Background(), m, secrets{certificate: certificate{Identity: identityOf(c.wanted)}, users: users{published: known{lines: c.users}}}, node.listener.Addr().String(), time.Now)
			if (err == nil) != (c.words == "") || err != nil && !strings.Contains(err.Error(), c.words) {
				t.Errorf("got %v, want %q", err, c.words)
			}
			if node.told != c.told {
				t.Errorf("told %d times", node.told)
			}
		})
	}
}
