package redis

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

// setCertificatesInSync says whether all nodes of an object with TLS use the published certificate.
func setCertificatesInSync(list *[]metav1.Condition, generation int64, s situation, c certificates) {
	if !s.TLS {
		return
	}
	conditions.SetCertificatesInSync(list, generation, conditions.Certificates{
		Field: tlsField, Problem: c.problem, NoneValid: c.published.IsEmpty(),
		Lagging:      namesOf(s.where(func(m member) bool { return !m.answers() || s.hasOldCertificate(m) })),
		TrustPending: c.published.ContentHash() != c.wanted.ContentHash(),
	})
}
