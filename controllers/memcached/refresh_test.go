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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

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
	called   int
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
			node.called++
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

func (s *served) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.called
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

func TestWhoDoesNotServeTheCertificateIsAskedLessAndLessOften(t *testing.T) {
	by := authority.New("one")
	another := serve(t, &served{file: authority.New("two").Issue(host)})
	port := another.listener.Addr().(*net.TCPAddr).Port
	m := secured(nil)
	m.Spec.Port = int32(port)
	now := clocktesting.NewFakePassiveClock(time.Now())
	r := &Reconciler{clock: now}
	pods := []corev1.Pod{at("a-0", "127.0.0.1"), at("a-1", "127.0.0.9"), at("a-2", "")}
	given := secrets{certificate: certificate{Identity: identityOf(by.Issue(host))}}
	visits := func(calls int, due time.Duration) {
		t.Helper()
		for range 3 { // whatever wakes the object up
			late, again := r.refresh(t.Context(), m, given, pods)
			if got := strings.Join(late, ", "); got != "a-0 (shows a certificate that ca.crt does not vouch for), a-1 (no answer), a-2 (is not ready)" {
				t.Fatal(got)
			}
			if again != due || another.calls() != calls {
				t.Fatalf("called %d times, again in %s; want %d and %s", another.calls(), again, calls, due)
			}
		}
	}
	for calls, due := range []time.Duration{3, 6, 12, 24, 48, 60, 60} {
		visits(calls+1, due*time.Second)
		now.SetTime(now.Now().Add(due * time.Second))
	}
	visits(8, time.Minute)
	given.certificate.Identity = identityOf(by.Issue(host))
	visits(9, 3*time.Second)
}

// What they come to is an event, for which nobody has to look out.
func TestNobodyWaitsForNodesThatAreNotReady(t *testing.T) {
	by := authority.New("one")
	issued := by.Issue(host)
	node := serve(t, &served{file: issued})
	m := secured(nil)
	m.Spec.Port = int32(node.listener.Addr().(*net.TCPAddr).Port)
	now := clocktesting.NewFakePassiveClock(time.Now())
	r := &Reconciler{clock: now}
	given := secrets{certificate: certificate{Identity: identityOf(issued)}}
	for _, c := range []struct {
		reason, ip, late string
		due              time.Duration
	}{
		{"not ready", "", "a-0 (is not ready)", 0},
		{"somewhere else", "127.0.0.9", "a-0 (no answer)", soon},
		{"not ready any more", "", "a-0 (is not ready)", 0},
		{"ready again, and asked at once", "127.0.0.1", "", 0},
		{"and never again", "", "", 0},
	} {
		late, due := r.refresh(t.Context(), m, given, []corev1.Pod{at("a-0", c.ip)})
		if got := strings.Join(late, ", "); got != c.late || due != c.due {
			t.Errorf("%s: %q, again in %s", c.reason, got, due)
		}
	}
}

// at is a pod that is ready where it has an address.
func at(name, ip string) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Status: corev1.PodStatus{PodIP: ip}}
	if ip != "" {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	return pod
}

func TestWhyANodeIsNotKnownToServeTheCertificate(t *testing.T) {
	by := authority.New("one")
	wanted := by.Issue(host)
	clear, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = clear.Close() })
	go func() {
		for conn, err := clear.Accept(); err == nil; conn, err = clear.Accept() {
			_, _ = conn.Write([]byte("ERROR\r\n"))
			_ = conn.Close()
		}
	}()
	for want, address := range map[string]string{
		"no answer":                                       "127.0.0.9:1",
		"does not speak TLS":                              clear.Addr().String(),
		"shows a certificate for another name":            serve(t, &served{file: by.Issue("b.n.svc")}).listener.Addr().String(),
		"the kubelet has not brought the certificate yet": serve(t, &served{file: by.Issue(host)}).listener.Addr().String(),
	} {
		err := load(t.Context(), secured(nil), secrets{certificate: certificate{Identity: identityOf(wanted)}}, address, time.Now)
		if err == nil || why(err) != want {
			t.Errorf("%v is told as %q, not %q", err, why(err), want)
		}
	}
	refused := &net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")}
	if got := why(refused); got != "refuses the operator's certificate" {
		t.Error(got)
	}
}
