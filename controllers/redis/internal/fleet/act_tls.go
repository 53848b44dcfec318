package fleet

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// PublishIdentity returns the identity that the servers are to load: a renewed certificate at once, the
// next step towards another authority's once all have loaded the last.
func (f *Fleet) PublishIdentity() config.Identity {
	published := f.Certificates.Published
	if f.Spec.TLS && (f.CertificatesLoaded() || f.Certificates.IsRenewal()) {
		published = f.Certificates.NextPublished(f.operator.Clock.Now())
		f.memory.Published = published
	}
	return published
}

// doLoadCertificates asks each node to load the published certificate. A node whose kubelet has not
// brought the files yet is asked again later.
func (f *Fleet) doLoadCertificates(ctx context.Context, s topology.Step) error {
	var loaded []string
	err := forEach(s.NodeNames, func(name string) error {
		done, err := f.servers[name].LoadCertificate(ctx, config.IdentityFiles(f.Certificates.Published))
		if done {
			loaded = append(loaded, name)
		}
		return err
	})
	if len(loaded) > 0 {
		f.operator.Events.Eventf(f.Redis, nil, corev1.EventTypeNormal, commonv1.ReasonCertificateLoaded, "Reload",
			"%s: the published certificate is in use", strings.Join(loaded, ", "))
	}
	return err
}
