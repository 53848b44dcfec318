package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// setCertificatesInSync says whether all nodes of an object with TLS use the published certificate.
func setCertificatesInSync(list *[]metav1.Condition, generation int64, s topology.Situation, c config.Certificates) {
	if s.TLS {
		conditions.SetCertificatesInSync(list, generation, certificates(s, c))
	}
}

// certificateUnusable is the problem with the Secret of an object with TLS.
func certificateUnusable(s topology.Situation, c config.Certificates) *conditions.Problem {
	if !s.TLS {
		return nil
	}
	return certificates(s, c).Unusable()
}

// certificates is what is known of the certificates of an object with TLS.
func certificates(s topology.Situation, c config.Certificates) conditions.Certificates {
	return conditions.Certificates{
		Field: converge.TLSSecretField, Problem: c.Problem, NoneValid: c.Published.IsEmpty(),
		Lagging:      topology.NamesOf(s.Where(func(m topology.Node) bool { return !m.Answers() || s.HasOldCertificate(m) })),
		TrustPending: c.Published.ContentHash() != c.Wanted.ContentHash(),
	}
}
