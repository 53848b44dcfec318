package memcached

import (
	"k8s.io/apimachinery/pkg/api/meta"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

// certificatesInSync sets the condition of that name on an object with TLS, and removes it from others.
func certificatesInSync(m *cachev1alpha1.Memcached, c certificate, late []string) {
	list := &m.Status.Conditions
	if m.Spec.TLS == nil {
		meta.RemoveStatusCondition(list, commonv1.ConditionCertificatesInSync)
		return
	}
	conditions.SetCertificatesInSync(list, m.Generation, c.inSync(late))
}

// inSync is what is known of the certificate, and of the nodes that are not known to use it.
func (c certificate) inSync(late []string) conditions.Certificates {
	return conditions.Certificates{Field: tlsField, Problem: c.problem, NoneValid: c.IsEmpty(), Lagging: late}
}
