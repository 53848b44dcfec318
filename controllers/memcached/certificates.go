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
	// nodeTimeout is how long a node may take to answer: all are asked at once, and a pass must not stand still.
	nodeTimeout = 500 * time.Millisecond
	// firstProbeBackoff is how long to wait before asking again a node whose kubelet may not have brought the
	// files yet. The wait doubles each time, up to maxProbeBackoff.
	firstProbeBackoff = 3 * time.Second
	maxProbeBackoff   = time.Minute
	// maxReloads is how often a node is asked to reload: one that reads while its files are being swapped has half
	// of each and accepts no new connection, so it is asked again over the connection that is open.
	maxReloads = 5
	// maxAnswerBytes bounds, in bytes, all that a node says in one session: a dozen lines, of which the
	// longest says why it cannot load its files, with a path and the words of OpenSSL.
	maxAnswerBytes = 16 << 10
)

// certificateProbe is what the last probe of a pod found.
type certificateProbe struct {
	version string        // of the certificate that the pod was asked for
	problem string        // why it is not known to serve that; "" when it was seen to
	backoff time.Duration // from this probe to the next
	nextAt  time.Time     // when it is asked again; zero when an event will follow
}

func (c certificateProbe) isServing(version string) bool {
	return c.version == version && c.problem == ""
}

// next returns the probe after this one; err is loadCertificate's.
func (c certificateProbe) next(version string, now time.Time, err error) certificateProbe {
	if err == nil {
		return certificateProbe{version: version}
	}
	wait := firstProbeBackoff
	if c.version == version && c.backoff > 0 {
		wait = min(2*c.backoff, maxProbeBackoff)
	}
	return certificateProbe{version, probeProblem(err), wait, now.Add(wait)}
}

// refreshCertificates makes every ready node load the certificate. It asks no node that is known to serve it. late names
// the nodes that are not known to, and why. recheckAfter is 0 if only events matter.
func (r *Reconciler) refreshCertificates(ctx context.Context, m *cachev1alpha1.Memcached, s secrets, pods []corev1.Pod) (late []string,
	recheckAfter time.Duration) {
	if m.Spec.TLS == nil || s.certificate.IsEmpty() {
		return nil, 0
	}
	version, lastProbes, now := s.certificate.ContentHash(), r.memory.probes(m), r.clock.Now()
	probes := make([]certificateProbe, len(pods))
	var group sync.WaitGroup
	for i := range pods {
		pod, last := &pods[i], lastProbes[pods[i].UID]
		probes[i] = last
		switch {
		case last.isServing(version):
		case !conditions.IsPodReady(pod), pod.Status.PodIP == "":
			probes[i] = certificateProbe{version: version, problem: "is not ready"}
		case r.IsLeader != nil && !r.IsLeader():
			probes[i] = last.next(version, now, nodeProblem("was not asked, as this manager no longer leads; the next leader will ask it"))
		case last.version != version, !now.Before(last.nextAt):
			group.Go(func() {
				err := panics.Recover(ctx, "asking a memcached", func() error {
					return loadCertificate(ctx, m, s, net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(m.Spec.Port))), r.clock.Now)
				})
				probes[i] = last.next(version, now, err)
			})
		}
	}
	group.Wait()
	probesByPod := map[types.UID]certificateProbe{}
	for i, v := range probes {
		probesByPod[pods[i].UID] = v
		if !v.isServing(version) {
			late = append(late, fmt.Sprintf("%s (%s)", pods[i].Name, v.problem))
		}
		if !v.nextAt.IsZero() {
			recheckAfter = converge.Soonest(recheckAfter, v.nextAt.Sub(now))
		}
	}
	r.memory.setProbes(m, probesByPod)
	return late, recheckAfter
}

// nodeProblem is what is wrong with a node, in our words or in the node's.
type nodeProblem string

func (n nodeProblem) Error() string { return string(n) }

// probeProblem says why a node is not known to serve the certificate, in the same words as long as the cause is the
// same.
func probeProblem(err error) string {
	var words nodeProblem
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
	return "does not answer"
}

// loadCertificate makes a node load the certificate. It returns nil when the node serves this very one.
func loadCertificate(ctx context.Context, m *cachev1alpha1.Memcached, s secrets, address string, clock func() time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, nodeTimeout)
	defer cancel()
	i := s.certificate.Identity
	config, err := i.TLSConfig(serviceHost(m), clock)
	if err != nil {
		return err
	}
	if m.Spec.TLS.ClientAuth != cachev1alpha1.MemcachedClientAuthRequire {
		config.GetClientCertificate = nil // one for servers alone would be refused
	}
	before, err := dialTLS(ctx, address, config)
	if err != nil {
		return err
	}
	defer before.Close() //nolint:errcheck // all was said
	if servesCertificate(before, i) {
		return nil
	}
	if err := reloadCertificates(ctx, before, s.users.published.lines); err != nil {
		return err
	}
	after, err := dialTLS(ctx, address, config)
	if err != nil {
		return err
	}
	defer after.Close() //nolint:errcheck // all was seen
	if !servesCertificate(after, i) {
		return nodeProblem("waits for the kubelet to bring the certificate")
	}
	return nil
}

func dialTLS(ctx context.Context, address string, config *tls.Config) (*tls.Conn, error) {
	if _, err := netip.ParseAddrPort(address); err != nil { // a name could lead anywhere
		return nil, nodeProblem("has no IP address")
	}
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return conn.(*tls.Conn), nil
}

// servesCertificate reports whether the other side's certificate is this one.
func servesCertificate(conn *tls.Conn, i pki.Identity) bool {
	leaf, _ := pem.Decode(i.Certificate)
	return leaf != nil && slices.Equal(conn.ConnectionState().PeerCertificates[0].Raw, leaf.Bytes)
}

// reloadCertificates makes the node read its files again. It tries the users in turn: the node may know only some.
func reloadCertificates(ctx context.Context, conn net.Conn, users []string) error {
	if deadline, bounded := ctx.Deadline(); bounded {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	node := session{conn, bufio.NewReader(io.LimitReader(conn, maxAnswerBytes))}
	for _, line := range users {
		login := strings.Replace(line, ":", " ", 1)
		answer, err := node.send(fmt.Sprintf("set auth 0 0 %d\r\n%s", len(login), login))
		if err != nil {
			return err
		}
		if answer == "STORED" {
			break
		}
	}
	var last string
	for range maxReloads {
		answer, err := node.send("refresh_certs")
		if answer == "OK" || err != nil {
			return err
		}
		last = answer
	}
	return nodeProblem("cannot load the certificate: " + untrusted.Sanitize(last))
}

// session sends commands that are answered by one line each.
type session struct {
	conn    net.Conn
	answers *bufio.Reader
}

func (s session) send(line string) (string, error) {
	if _, err := fmt.Fprint(s.conn, line, "\r\n"); err != nil {
		return "", err
	}
	answer, err := s.answers.ReadString('\n')
	return strings.TrimSpace(answer), err
}
