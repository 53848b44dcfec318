package redis

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

// setCertificatesInSync says whether all nodes of an object with TLS use the published certificate.
func setCertificatesInSync(list *[]metav1.Condition, r *cachev1alpha1.Redis, w world, c certificates) {
	if r.Spec.TLS == nil {
		return
	}
	conditions.SetCertificatesInSync(list, r.Generation, conditions.Certificates{
		Field: tlsField, Problem: c.problem, NoneValid: c.published.IsEmpty(),
		Lagging:      namesOf(w.where(func(m member) bool { return !m.answers() || w.hasOldCertificate(m) })),
		TrustPending: c.published.ContentHash() != c.wanted.ContentHash(),
	})
}
