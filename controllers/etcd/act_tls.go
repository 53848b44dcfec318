package etcd

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
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
func (r *Reconciler) readCertificates(ctx context.Context, e *databasev1alpha1.EtcdCluster,
	spec membership.Spec) (c pki.Certificates, isCopied bool, err error) {
	if e.Spec.TLS == nil {
		return c, false, nil
	}
	published := r.memory.published(e)
	if published.IsEmpty() {
		own, err := r.OwnSecret(ctx, e, spec.CertificatesName())
		if err != nil {
			return c, false, err
		}
		published = pki.PublishedIn(own.Data)
	}
	now := r.clock.Now()
	judge := func(data map[string][]byte) (pki.Identity, string) { return config.IdentityIn(spec, data, now) }
	c, err = r.Secrets.Certificates(ctx, e, e.Spec.TLS.SecretName, published, judge, now)
	return c, !published.IsEmpty(), err
}

// certificateUsage is what is known of a member's certificates: what it shows, and whose it takes.
type certificateUsage struct {
	authorities string // whose certificates its etcd takes from clients, as its pod was made

	mu    sync.Mutex
	shown []byte // the certificate that it has shown last
}

// open connects to the server of a pod that was told to start. It is asked by TLS if it serves clients by that: the certificate
// must name the member, and what it shows is noted.
func (f *fleet) open(e *databasev1alpha1.EtcdCluster, pod *corev1.Pod, in inputs, clock func() time.Time) (server, error) {
	login := in.logins.Token(clock)
	if e.Spec.TLS == nil {
		return wire.Open(pod.Status.PodIP, nil, login)
	}
	published := in.certificates.Published
	secure, err := published.TLSConfig(f.spec.Host(pod.Name), clock)
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

func (u *certificateUsage) note(certificate []byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.shown = certificate
}

// isOf reports whether the member shows the identity's certificate, and takes those of its authorities from clients.
func (u *certificateUsage) isOf(i pki.Identity, authorities string) bool {
	leaf, _ := pem.Decode(i.Certificate)
	if u == nil || leaf == nil {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return bytes.Equal(u.shown, leaf.Bytes) && u.authorities == authorities
}

// lagging are the members on record that are not known to use the published certificate, those that the pass has just recorded
// among them.
func (f *fleet) lagging(e *databasev1alpha1.EtcdCluster, published pki.Identity) []string {
	var names []string
	authorities := config.ClientAuthorities(f.spec, published)
	if e.Status.Membership != nil {
		for _, m := range e.Status.Membership.Members {
			if !f.usage[m.Name].isOf(published, authorities) {
				names = append(names, m.Name)
			}
		}
	}
	return names
}

// nextIdentity returns the identity that the members are to show: a renewed certificate at once, the next step towards another
// authority's once all members use the last.
func (f *fleet) nextIdentity(e *databasev1alpha1.EtcdCluster, c pki.Certificates, now time.Time) pki.Identity {
	if e.Spec.TLS != nil && (c.IsRenewal() || len(f.lagging(e, c.Published)) == 0) {
		return c.NextIdentity(now)
	}
	return c.Published
}

// notePublished remembers the identity that our own Secret has, once it is written.
func (r *Reconciler) notePublished(e *databasev1alpha1.EtcdCluster, spec membership.Spec, observed converge.Observed, i pki.Identity) {
	own, found := converge.Find[*corev1.Secret](observed, "Secret", spec.CertificatesName())
	if found && i.IsIn(own.Data) {
		r.memory.notePublished(e, i)
	}
}
