package redis

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
)

// tlsField is the field of the spec, as messages name it.
const tlsField = "tls.secretName"

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
	data, err := r.Secrets.Data(ctx, redis, spec.TLSSecret)
	switch {
	case err == nil:
		c.Wanted, c.Problem = spec.IdentityIn(data, r.clock.Now())
		c.RecheckAfter = pki.NextChange(data, r.clock.Now())
	case c.Published.IsEmpty():
		return c, fmt.Errorf("%s: %w", tlsField, err)
	default: // what is known goes on
		log.FromContext(ctx).Error(err, tlsField)
		c.RecheckAfter = config.SecretReread
	}
	switch {
	case c.Published.IsEmpty() && c.Problem != "":
		return c, missingCertificateError(redis, c.Problem)
	case c.Published.IsEmpty():
		c.Published = c.Wanted
	case c.Wanted.IsEmpty():
		c.Wanted = c.Published
	}
	c.TLSConfig, err = c.Published.TLSConfig(spec.ServiceHost(), r.clock.Now)
	return c, err
}

// missingCertificateError reports what is wrong with the Secret of a Redis that never had a certificate.
func missingCertificateError(redis *cachev1alpha1.Redis, problem string) error {
	conditions.SetSecretUnusable(&redis.Status.Conditions, redis.Generation, commonv1.ConditionCertificatesInSync, tlsField, problem, "")
	return converge.Invalid(tlsField, "%s", problem)
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
