package etcd

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"sync"

	corev1 "k8s.io/api/core/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

// secretNames returns the names of the user's Secrets that an object refers to.
func secretNames(e ctrlclient.Object) []string {
	var names []string
	if over := e.(*databasev1alpha1.EtcdCluster).Spec.TLS; over != nil {
		names = append(names, over.SecretName)
	}
	if auth := e.(*databasev1alpha1.EtcdCluster).Spec.Auth; auth != nil {
		names = append(names, auth.SecretName)
	}
	return names
}

// readCertificates returns the certificate that the members were given for their clients, and the one in the user's Secret. If
// the user's is of no use, that is reported and holds up nothing but the first start. It also reports whether the members' is
// known, by our own copy.
func (p *pass) readCertificates(ctx context.Context) (c pki.Certificates, isCopied bool, err error) {
	if p.cluster.Spec.TLS == nil {
		return c, false, nil
	}
	published := p.known.published
	if published.IsEmpty() {
		own, err := p.OwnSecret(ctx, p.cluster, p.spec.CertificatesName())
		if err != nil {
			return c, false, err
		}
		published = pki.PublishedIn(own.Data)
	}
	now := p.clock.Now()
	judge := func(data map[string][]byte) (pki.Identity, string) { return config.IdentityIn(p.spec, data, now) }
	c, err = p.Secrets.Certificates(ctx, p.cluster, p.cluster.Spec.TLS.SecretName, published, judge, now)
	return c, !published.IsEmpty(), err
}

// certificateUsage is what is known of a member's certificates: what it shows, and whose it takes.
type certificateUsage struct {
	authorities string // whose certificates its etcd takes from clients, as its pod was made

	mu    sync.Mutex
	shown []byte // the certificate that it has shown last
}

// open connects to the server of a pod that was permitted to start. It is asked by TLS if it serves clients by that: the certificate
// must name the member, and what it shows is noted.
func (p *pass) open(pod *corev1.Pod) (server, error) {
	login := p.in.logins.Token(p.clock.Now)
	if p.cluster.Spec.TLS == nil {
		return wire.Open(pod.Status.PodIP, nil, login)
	}
	published := p.in.certificates.Published
	secure, err := published.TLSConfig(p.spec.Host(pod.Name), p.clock.Now)
	if err != nil {
		return nil, err
	}
	usage := &certificateUsage{authorities: pod.Annotations[config.AnnotationClientAuthorities]}
	verify := secure.VerifyConnection
	secure.VerifyConnection = func(state tls.ConnectionState) error {
		usage.note(state.PeerCertificates[0].Raw)
		return verify(state)
	}
	p.usage[pod.Name] = usage
	return wire.Open(pod.Status.PodIP, secure, login)
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

// lagging are the recorded members that are not known to use the published certificate, those that the pass has just recorded
// among them.
func (f *fleet) lagging(published pki.Identity) []string {
	var names []string
	authorities := config.ClientAuthorities(f.spec, published)
	if f.cluster.Status.Membership != nil {
		for _, m := range f.cluster.Status.Membership.Members {
			if !f.usage[m.Name].isOf(published, authorities) {
				names = append(names, m.Name)
			}
		}
	}
	return names
}

// nextIdentity returns the identity that the members are to show: a renewed certificate at once, the next step towards another
// authority's once all members use the last.
func (p *pass) nextIdentity() pki.Identity {
	c := p.in.certificates
	if p.cluster.Spec.TLS != nil && (c.IsRenewal() || len(p.lagging(c.Published)) == 0) {
		return c.NextIdentity(p.clock.Now())
	}
	return c.Published
}

// notePublished remembers the identity that our own Secret has, once it is written.
func (p *pass) notePublished(observed converge.Observed, i pki.Identity) {
	own, found := converge.Find[*corev1.Secret](observed, "Secret", p.spec.CertificatesName())
	if found && i.IsIn(own.Data) {
		p.known.published = i
	}
}
