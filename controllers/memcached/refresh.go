package memcached

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

const (
	// brief is the patience with a node: all are asked at once, and a pass must not stand still.
	brief = 500 * time.Millisecond
	// reloading is how soon a node is asked again whose kubelet has not brought the files yet.
	reloading = 3 * time.Second
	// halves : a node that reads while its files are being swapped has half of each and
	// takes no new connection, so it is told again over the one that is open.
	halves = 5
)

// refresh makes every ready node load the certificate, and gives the names of those
// that are not known to serve it. A pod that was seen to is not asked again.
func (r *Reconciler) refresh(ctx context.Context, m *cachev1alpha1.Memcached, s secrets, pods []corev1.Pod) (late []string) {
	if m.Spec.TLS == nil || s.certificate.None() {
		return nil
	}
	version, known := s.certificate.Version(), r.memory.loaded(m)
	served := make([]string, len(pods))
	var all sync.WaitGroup
	for i := range pods {
		pod := &pods[i]
		switch served[i] = known[pod.UID]; {
		case served[i] == version, !conditions.PodReady(pod), pod.Status.PodIP == "", r.Leads != nil && !r.Leads():
			continue
		}
		all.Go(func() {
			if load(ctx, m, s, net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(m.Spec.Port))), r.clock.Now) == nil {
				served[i] = version
			}
		})
	}
	all.Wait()
	loaded := map[types.UID]string{}
	for i := range pods {
		if loaded[pods[i].UID] = served[i]; served[i] != version {
			late = append(late, pods[i].Name)
		}
	}
	r.memory.noteLoaded(m, loaded)
	return late
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
		return errors.New("the kubelet has not brought the certificate yet")
	}
	return nil
}

func connect(ctx context.Context, address string, config *tls.Config) (*tls.Conn, error) {
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
	node := session{conn, bufio.NewReader(conn)}
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
	return fmt.Errorf("the node cannot load the certificate: %s", last)
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
