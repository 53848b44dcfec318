package memcached

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/panics"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/untrusted"
)

const (
	// brief is the patience with a node: all are asked at once, and a pass must not stand still.
	brief = 500 * time.Millisecond
	// soon is when a node is asked again whose kubelet may not have brought the files yet:
	// at first, and then twice as late each time, up to seldom.
	soon   = 3 * time.Second
	seldom = time.Minute
	// halves : a node that reads while its files are being swapped has half of each and
	// takes no new connection, so it is told again over the one that is open.
	halves = 5
	// maxAnswers bounds, in bytes, all that a node says in one session: a dozen lines, of which the
	// longest, why it cannot load its files, holds a path and the words of OpenSSL.
	maxAnswers = 16 << 10
)

// visit of a pod.
type visit struct {
	version string        // of the certificate that it was asked for
	why     string        // it is not known to serve that; "" when it was seen to
	wait    time.Duration // until it is asked again
	next    time.Time     // when that is; zero when an event tells
}

func (v visit) shown(version string) bool { return v.version == version && v.why == "" }

// again is the visit after this one, by what load said.
func (v visit) again(version string, now time.Time, err error) visit {
	if err == nil {
		return visit{version: version}
	}
	wait := soon
	if v.version == version && v.wait > 0 {
		wait = min(2*v.wait, seldom)
	}
	return visit{version, why(err), wait, now.Add(wait)}
}

// refresh makes every ready node load the certificate. It tells which are not known to
// serve it, and why, and how soon to look again; 0 is never. A pod that was seen to is not
// asked again, and none that is not ready: an event tells when it is.
func (r *Reconciler) refresh(ctx context.Context, m *cachev1alpha1.Memcached, s secrets, pods []corev1.Pod) (late []string, due time.Duration) {
	if m.Spec.TLS == nil || s.certificate.None() {
		return nil, 0
	}
	version, known, now := s.certificate.Version(), r.memory.visits(m), r.clock.Now()
	visits := make([]visit, len(pods))
	var all sync.WaitGroup
	for i := range pods {
		pod, last := &pods[i], known[pods[i].UID]
		visits[i] = last
		switch {
		case last.shown(version):
		case !conditions.PodReady(pod), pod.Status.PodIP == "":
			visits[i] = visit{version: version, why: "is not ready"}
		case r.Leads != nil && !r.Leads():
			visits[i] = last.again(version, now, said("has not been asked"))
		case last.version != version, !now.Before(last.next):
			all.Go(func() {
				err := panics.Recovered(ctx, "asking a memcached", func() error {
					return load(ctx, m, s, net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(m.Spec.Port))), r.clock.Now)
				})
				visits[i] = last.again(version, now, err)
			})
		}
	}
	all.Wait()
	noted := map[types.UID]visit{}
	for i, v := range visits {
		noted[pods[i].UID] = v
		if !v.shown(version) {
			late = append(late, fmt.Sprintf("%s (%s)", pods[i].Name, v.why))
		}
		if !v.next.IsZero() {
			due = converge.Soonest(due, v.next.Sub(now))
		}
	}
	r.memory.noteVisits(m, noted)
	return late, due
}

// said is what is wrong, in our words or in the node's.
type said string

func (s said) Error() string { return string(s) }

// why a node is not known to serve the certificate: the same words as long as the cause is
// the same.
func why(err error) string {
	var words said
	var handshake *net.OpError
	switch {
	case errors.As(err, &words):
		return string(words)
	case errors.Is(err, panics.ErrRecovered):
		return "could not be asked: " + panics.ErrRecovered.Error()
	case errors.As(err, new(x509.HostnameError)):
		return "shows a certificate for another name"
	case errors.As(err, new(x509.UnknownAuthorityError)), errors.As(err, new(x509.CertificateInvalidError)):
		return "shows a certificate that ca.crt does not vouch for"
	case errors.As(err, new(tls.RecordHeaderError)):
		return "does not speak TLS"
	case errors.As(err, &handshake) && handshake.Op == "remote error":
		return "refuses the operator's certificate"
	}
	return "no answer"
}

// load is nil when the node serves this very certificate.
func load(ctx context.Context, m *cachev1alpha1.Memcached, s secrets, address string, clock func() time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, brief)
	defer cancel()
	i := s.certificate.Identity
	config, err := i.Config(serviceHost(m), clock)
	if err != nil {
		return err
	}
	if m.Spec.TLS.ClientAuth != cachev1alpha1.MemcachedClientAuthRequire {
		config.GetClientCertificate = nil // one for servers alone would be refused
	}
	before, err := connect(ctx, address, config)
	if err != nil {
		return err
	}
	defer before.Close() //nolint:errcheck // all was said
	if shows(before, i) {
		return nil
	}
	if err := command(ctx, before, s.users.published.lines); err != nil {
		return err
	}
	after, err := connect(ctx, address, config)
	if err != nil {
		return err
	}
	defer after.Close() //nolint:errcheck // all was seen
	if !shows(after, i) {
		return said("the kubelet has not brought the certificate yet")
	}
	return nil
}

func connect(ctx context.Context, address string, config *tls.Config) (*tls.Conn, error) {
	if _, err := netip.ParseAddrPort(address); err != nil { // a name could lead anywhere
		return nil, said("has no address")
	}
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return conn.(*tls.Conn), nil
}

// shows is true when the other side's certificate is this one.
func shows(conn *tls.Conn, i pki.Identity) bool {
	leaf, _ := pem.Decode(i.Certificate)
	return leaf != nil && slices.Equal(conn.ConnectionState().PeerCertificates[0].Raw, leaf.Bytes)
}

// command makes the node read its files again. It may know but some of the users.
func command(ctx context.Context, conn net.Conn, users []string) error {
	if deadline, bounded := ctx.Deadline(); bounded {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	node := session{conn, bufio.NewReader(io.LimitReader(conn, maxAnswers))}
	for _, line := range users {
		token := strings.Replace(line, ":", " ", 1)
		answer, err := node.ask(fmt.Sprintf("set auth 0 0 %d\r\n%s", len(token), token))
		if err != nil {
			return err
		}
		if answer == "STORED" {
			break
		}
	}
	var last string
	for range halves {
		answer, err := node.ask("refresh_certs")
		if answer == "OK" || err != nil {
			return err
		}
		last = answer
	}
	return said("it cannot be loaded: " + untrusted.Words(last))
}

// session of commands that are answered by a line.
type session struct {
	conn    net.Conn
	answers *bufio.Reader
}

func (s session) ask(line string) (string, error) {
	if _, err := fmt.Fprint(s.conn, line, "\r\n"); err != nil {
		return "", err
	}
	answer, err := s.answers.ReadString('\n')
	return strings.TrimSpace(answer), err
}
