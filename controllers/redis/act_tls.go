package redis

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// readCertificates returns the certificate that the servers were given, and the one in the user's
// Secret. If the user's is of no use, that is reported and holds up nothing but the first start.
func (p *pass) readCertificates(ctx context.Context) (config.Certificates, error) {
	var c config.Certificates
	if !p.spec.TLS {
		return c, nil
	}
	if c.Published = p.known.published; c.Published.IsEmpty() {
		own, err := p.OwnSecret(ctx, p.redis, p.spec.CertificatesName())
		if err != nil {
			return c, err
		}
		c.Published = config.PublishedIn(own.Data)
	}
	judge := func(data map[string][]byte) (config.Identity, string) { return p.spec.IdentityIn(data, p.clock.Now()) }
	var err error
	if c.Certificates, err = p.Secrets.Certificates(ctx, p.redis, p.spec.TLSSecret, c.Published, judge, p.clock.Now()); err != nil {
		return c, err
	}
	c.TLSConfig, err = c.Published.TLSConfig(p.spec.ServiceHost(), p.clock.Now)
	return c, err
}

// publishIdentity returns the identity that the servers are to load: a renewed certificate at once, the
// next step towards another authority's once all have loaded the last.
func (p *pass) publishIdentity() config.Identity {
	published := p.certificates.Published
	if p.spec.TLS && (p.CertificatesLoaded() || p.certificates.IsRenewal()) {
		published = p.certificates.NextIdentity(p.clock.Now())
		p.known.published = published
	}
	return published
}

// doLoadCertificates asks each node to load the published certificate. A node whose kubelet has not
// brought the files yet is asked again later.
func (p *pass) doLoadCertificates(ctx context.Context, s topology.Step) error {
	var loaded []string
	err := forEach(s.NodeNames, func(name string) error {
		done, err := p.servers[name].LoadCertificate(ctx, config.IdentityFiles(p.certificates.Published))
		if done {
			loaded = append(loaded, name)
		}
		return err
	})
	if len(loaded) > 0 {
		p.Events.Eventf(p.redis, nil, corev1.EventTypeNormal, commonv1.ReasonCertificateLoaded, "Reload",
			"%s: the published certificate is in use", strings.Join(loaded, ", "))
	}
	return err
}
