package etcd

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

// readCertificates returns the certificate that the members were given for their clients, and the one in the user's Secret. If
// the user's is of no use, that is reported and holds up nothing but the first start. It also reports whether the members' is
// known, by our own copy.
func (o *object) readCertificates(ctx context.Context) (c pki.Certificates, isCopied bool, err error) {
	if o.cluster.Spec.TLS == nil {
		return c, false, nil
	}
	published := o.known.published
	if published.IsEmpty() {
		own, err := o.OwnSecret(ctx, o.cluster, o.spec.CertificatesName())
		if err != nil {
			return c, false, err
		}
		published = pki.PublishedIn(own.Data)
	}
	now := o.clock.Now()
	judge := func(data map[string][]byte) (pki.Identity, string) { return config.IdentityIn(o.spec, data, now) }
	c, err = o.Secrets.Certificates(ctx, o.cluster, o.cluster.Spec.TLS.SecretName, published, judge, now)
	return c, !published.IsEmpty(), err
}

// notePublished remembers the identity that our own Secret has, once it is written.
func (o *object) notePublished(observed converge.Observed, i pki.Identity) {
	own, found := converge.Find[*corev1.Secret](observed, "Secret", o.spec.CertificatesName())
	if found && i.IsIn(own.Data) {
		o.known.published = i
	}
}
