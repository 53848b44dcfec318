package redis

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

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
