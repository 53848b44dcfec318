package redis

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
)

// readCertificates returns the certificate that the servers were given, and the one in the user's
// Secret. If the user's is of no use, that is reported and holds up nothing but the first start.
func (r *Reconciler) readCertificates(ctx context.Context, redis *cachev1alpha1.Redis, spec config.Spec) (config.Certificates, error) {
	var c config.Certificates
	if !spec.TLS {
		return c, nil
	}
	if c.Published = r.memory.published(redis); c.Published.IsEmpty() {
		own, err := r.OwnSecret(ctx, redis, spec.CertificatesName())
		if err != nil {
			return c, err
		}
		c.Published = config.PublishedIn(own.Data)
	}
	judge := func(data map[string][]byte) (config.Identity, string) { return spec.IdentityIn(data, r.clock.Now()) }
	var err error
	if c.Certificates, err = r.Secrets.Certificates(ctx, redis, spec.TLSSecret, c.Published, judge, r.clock.Now()); err != nil {
		return c, err
	}
	c.TLSConfig, err = c.Published.TLSConfig(spec.ServiceHost(), r.clock.Now)
	return c, err
}

// publishIdentity returns the identity that the servers are to load: a renewed certificate at once, the
// next step towards another authority's once all have loaded the last.
func (r *Reconciler) publishIdentity(redis *cachev1alpha1.Redis, f *fleet) config.Identity {
	published := f.certificates.Published
	if f.spec.TLS && (f.CertificatesLoaded() || f.certificates.IsRenewal()) {
		published = f.certificates.NextIdentity(r.clock.Now())
		r.memory.notePublished(redis, published)
	}
	return published
}

// doLoadCertificates asks each node to load the published certificate. A node whose kubelet has not
// brought the files yet is asked again later.
func (r *Reconciler) doLoadCertificates(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, nodes []string) error {
	var loaded []string
	err := forEach(nodes, func(name string) error {
		done, err := f.servers[name].LoadCertificate(ctx, config.IdentityFiles(f.certificates.Published))
		if done {
			loaded = append(loaded, name)
		}
		return err
	})
	if len(loaded) > 0 {
		r.Events.Eventf(redis, nil, corev1.EventTypeNormal, commonv1.ReasonCertificateLoaded, "Reload", "%s: the published certificate is in use", strings.Join(loaded, ", "))
	}
	return err
}
