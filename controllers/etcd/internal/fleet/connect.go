package fleet

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

// Open connects to the servers of the pods that were permitted to start. Close closes the connections.
func (f *Fleet) Open(ctx context.Context, pods []corev1.Pod) {
	f.servers, f.usage = map[string]server{}, map[string]*certificateUsage{}
	for i := range pods {
		if m, _ := f.Find(pods[i].Name); m.Pod.Address == "" || m.Pod.Permit == "" {
			continue // nothing was started in it
		}
		if server, err := f.open(&pods[i]); err == nil {
			f.servers[pods[i].Name] = server
		} else {
			log.FromContext(ctx).Error(err, "opening a connection", "member", pods[i].Name)
		}
	}
}

// open connects to the server of a pod. It uses TLS if the members serve TLS to clients: the certificate must name the member, and what
// it shows is noted.
func (f *Fleet) open(pod *corev1.Pod) (server, error) {
	login := f.Logins.Token(f.Clock.Now)
	if f.Cluster.Spec.TLS == nil {
		return wire.Open(pod.Status.PodIP, nil, login)
	}
	secure, err := f.Certificates.Published.TLSConfig(f.Spec.Host(pod.Name), f.Clock.Now)
	if err != nil {
		return nil, err
	}
	usage := &certificateUsage{authorities: pod.Annotations[config.AnnotationClientAuthorities]}
	verify := secure.VerifyConnection
	secure.VerifyConnection = func(state tls.ConnectionState) error {
		usage.note(state.PeerCertificates[0].Raw)
		return verify(state)
	}
	f.usage[pod.Name] = usage
	return wire.Open(pod.Status.PodIP, secure, login)
}

// certificateUsage is what is known of a member's certificates: what it shows, and whose it takes.
type certificateUsage struct {
	authorities string // whose certificates its etcd takes from clients, as its pod was made

	mu    sync.Mutex
	shown []byte // the certificate that it has shown last
}

func (c *certificateUsage) note(certificate []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shown = certificate
}

// isOf reports whether the member shows the identity's certificate, and takes those of its authorities from clients.
func (c *certificateUsage) isOf(i pki.Identity, authorities string) bool {
	leaf, _ := pem.Decode(i.Certificate)
	if c == nil || leaf == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Equal(c.shown, leaf.Bytes) && c.authorities == authorities
}

// Lagging are the recorded members that are not known to use the published certificate, those that the pass has just recorded
// among them.
func (f *Fleet) Lagging() []string {
	var names []string
	published := f.Certificates.Published
	authorities := config.ClientAuthorities(f.Spec, published)
	if f.Cluster.Status.Membership != nil {
		for _, m := range f.Cluster.Status.Membership.Members {
			if !f.usage[m.Name].isOf(published, authorities) {
				names = append(names, m.Name)
			}
		}
	}
	return names
}

// NextPublished returns the identity that the members are to show: a renewed certificate at once, the next step towards another
// authority's once all members use the last.
func (f *Fleet) NextPublished() pki.Identity {
	c := f.Certificates
	if f.Cluster.Spec.TLS != nil && (c.IsRenewal() || len(f.Lagging()) == 0) {
		return c.NextPublished(f.Clock.Now())
	}
	return c.Published
}
