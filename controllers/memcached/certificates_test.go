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

// fakeNode handles its certificate as memcached does: it reads the files when it is asked to.
type fakeNode struct {
	mu             sync.Mutex
	loaded         *tls.Certificate // nil takes no new connection
	files          map[string][]byte
	failingReloads int // how many reloads find half of the files
	reloads        int
	connections    int
	user           string // with the password, whom alone it listens to; "" for everybody
	clientAuth     tls.ClientAuthType
	clientCAs      []byte
	listener       net.Listener
}

func startFakeNode(t *testing.T, node *fakeNode) *fakeNode {
	t.Helper()
	node.loaded = keyPair(t, node.files)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(node.clientCAs)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		MinVersion: tls.VersionTLS12, ClientAuth: node.clientAuth, ClientCAs: pool,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			node.mu.Lock()
			defer node.mu.Unlock()
			node.connections++
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
			go node.serveConn(conn)
		}
	}()
	return node
}

func (f *fakeNode) connectionCount() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.connections
}

func (f *fakeNode) serveConn(conn net.Conn) {
	defer conn.Close() //nolint:errcheck // a test's
	in := f.user == ""
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		answer := ""
		switch {
		case strings.HasPrefix(lines.Text(), "set ") && lines.Scan():
			if in = lines.Text() == f.user; in {
				answer = "STORED\r\n"
			} else {
				answer = "CLIENT_ERROR authentication failure\r\n"
			}
		case !in:
			answer = "CLIENT_ERROR unauthenticated\r\n"
		case lines.Text() == "refresh_certs":
			answer = f.reload()
		}
		_, _ = conn.Write([]byte(answer))
	}
}

func (f *fakeNode) reload() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reloads++
	if f.failingReloads > 0 {
		f.failingReloads--
		f.loaded = nil
		return "Error loading the key: key values mismatch\r\n"
	}
	loaded, err := tls.X509KeyPair(f.files["tls.crt"], f.files["tls.key"])
	if err != nil {
		return err.Error() + "\r\n"
	}
	f.loaded = &loaded
	return "OK\r\n"
}

func keyPair(t *testing.T, data map[string][]byte) *tls.Certificate {
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
		reason  string
		start   *fakeNode
		brings  map[string][]byte // by the kubelet, before the request to reload
		wanted  map[string][]byte
		auth    cachev1alpha1.MemcachedClientAuth
		users   []string
		reloads int
		words   string
	}{
		{"serves it", &fakeNode{files: renewed}, nil, renewed, "", nil, 0, ""},
		{"asked to reload", &fakeNode{files: old}, renewed, renewed, "", nil, 1, ""},
		{"the kubelet has not brought it yet", &fakeNode{files: old}, nil, renewed, "", nil, 1, "waits for the kubelet"},
		{"half of each is read, and the open connection saves it", &fakeNode{files: old, failingReloads: 2}, renewed, renewed, "", nil, 3, ""},
		{"never whole", &fakeNode{files: old, failingReloads: 100}, renewed, renewed, "", nil, maxReloads, "key values mismatch"},
		{"shows ours where it must", &fakeNode{files: old, clientAuth: tls.RequireAndVerifyClientCert, clientCAs: by.PEM()}, renewed, renewed,
			cachev1alpha1.MemcachedClientAuthRequire, nil, 1, ""},
		{"shows none where it need not: ours is for servers", &fakeNode{files: old, clientAuth: tls.VerifyClientCertIfGiven, clientCAs: by.PEM()},
			forServers, forServers,
			cachev1alpha1.MemcachedClientAuthRequest, nil, 1, ""},
		{"lets in who it knows, which may be but one of them", &fakeNode{files: old, user: "app old"}, renewed, renewed, "",
			[]string{"app:new", "app:old"}, 1, ""},
		{"knows none of them", &fakeNode{files: old, user: "app other"}, renewed, renewed, "", []string{"app:new"}, 0, "unauthenticated"},
		{"is another's", &fakeNode{files: authority.New("two").Issue(host)}, nil, renewed, "", nil, 0, "unknown authority"},
		{"names another", &fakeNode{files: by.Issue("b.n.svc")}, nil, renewed, "", nil, 0, "b.n.svc"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			node := startFakeNode(t, c.start)
			if c.brings != nil {
				node.files = c.brings
			}
			m := newSecured(func(over *cachev1alpha1.MemcachedTLS) { over.ClientAuth = c.auth })
			err := loadCertificate(context.Background(), m,
				secrets{certificate: certificate{Identity: identityOf(c.wanted)}, users: userRotation{published: userList{lines: c.users}}},
				node.listener.Addr().String(), time.Now)
			if (err == nil) != (c.words == "") || err != nil && !strings.Contains(err.Error(), c.words) {
				t.Errorf("got %v, want %q", err, c.words)
			}
			if node.reloads != c.reloads {
				t.Errorf("asked %d times", node.reloads)
			}
		})
	}
}

func TestWhoDoesNotServeTheCertificateIsAskedLessAndLessOften(t *testing.T) {
	by := authority.New("one")
	another := startFakeNode(t, &fakeNode{files: authority.New("two").Issue(host)})
	port := another.listener.Addr().(*net.TCPAddr).Port
	m := newSecured(nil)
	m.Spec.Port = int32(port)
	now := clocktesting.NewFakePassiveClock(time.Now())
	r := &Reconciler{clock: now}
	pods := []corev1.Pod{podAt("a-0", "127.0.0.1"), podAt("a-1", "127.0.0.9"), podAt("a-2", "")}
	given := secrets{certificate: certificate{Identity: identityOf(by.Issue(host))}}
	expectProbes := func(calls int, want time.Duration) {
		t.Helper()
		for range 3 { // whatever wakes the object up
			late, recheckAfter := r.refreshCertificates(t.Context(), m, given, pods)
			if got := strings.Join(late,
				", "); got != "a-0 (shows a certificate that ca.crt does not vouch for), a-1 (does not answer), a-2 (is not ready)" {
				t.Fatal(got)
			}
			if recheckAfter != want || another.connectionCount() != calls {
				t.Fatalf("called %d times, again in %s; want %d and %s", another.connectionCount(), recheckAfter, calls, want)
			}
		}
	}
	for calls, want := range []time.Duration{3, 6, 12, 24, 48, 60, 60} {
		expectProbes(calls+1, want*time.Second)
		now.SetTime(now.Now().Add(want * time.Second))
	}
	expectProbes(8, time.Minute)
	given.certificate.Identity = identityOf(by.Issue(host))
	expectProbes(9, 3*time.Second)
}

// A pod that becomes ready is an event, so no new look is scheduled.
func TestNodesThatAreNotReadyAreNotWaitedFor(t *testing.T) {
	by := authority.New("one")
	issued := by.Issue(host)
	node := startFakeNode(t, &fakeNode{files: issued})
	m := newSecured(nil)
	m.Spec.Port = int32(node.listener.Addr().(*net.TCPAddr).Port)
	now := clocktesting.NewFakePassiveClock(time.Now())
	r := &Reconciler{clock: now}
	given := secrets{certificate: certificate{Identity: identityOf(issued)}}
	for _, c := range []struct {
		reason, ip, late string
		due              time.Duration
	}{
		{"the pod is not ready", "", "a-0 (is not ready)", 0},
		{"the pod does not answer at its address", "127.0.0.9", "a-0 (does not answer)", firstProbeBackoff},
		{"the pod is not ready any more", "", "a-0 (is not ready)", 0},
		{"the pod is ready again, and is asked at once", "127.0.0.1", "", 0},
		{"the pod has answered, and is not asked again", "", "", 0},
	} {
		late, due := r.refreshCertificates(t.Context(), m, given, []corev1.Pod{podAt("a-0", c.ip)})
		if got := strings.Join(late, ", "); got != c.late || due != c.due {
			t.Errorf("%s: %q, again in %s", c.reason, got, due)
		}
	}
}

// podAt is a pod that is ready where it has an address.
func podAt(name, ip string) corev1.Pod {
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
		"does not answer":                                "127.0.0.9:1",
		"does not speak TLS":                             clear.Addr().String(),
		"shows a certificate for another name":           startFakeNode(t, &fakeNode{files: by.Issue("b.n.svc")}).listener.Addr().String(),
		"waits for the kubelet to bring the certificate": startFakeNode(t, &fakeNode{files: by.Issue(host)}).listener.Addr().String(),
	} {
		err := loadCertificate(t.Context(), newSecured(nil), secrets{certificate: certificate{Identity: identityOf(wanted)}}, address, time.Now)
		if err == nil || probeProblem(err) != want {
			t.Errorf("%v is reported as %q, not %q", err, probeProblem(err), want)
		}
	}
	refused := &net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")}
	if got := probeProblem(refused); got != "refuses the operator's certificate" {
		t.Error(got)
	}
}
