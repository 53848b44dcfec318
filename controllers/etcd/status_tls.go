package etcd

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

// clientCertificates are those that clients are shown, and the members that are not known to use the published one.
type clientCertificates struct {
	pki.Certificates
	lagging []string
}

// setCertificatesInSync says whether all members of an object with TLS use the published certificate.
func setCertificatesInSync(e *databasev1alpha1.EtcdCluster, list *[]metav1.Condition, c clientCertificates) {
	if e.Spec.TLS == nil || e.Status.Membership == nil {
		return
	}
	conditions.SetCertificatesInSync(list, e.Generation, conditions.Certificates{
		Field: converge.TLSSecretField, Problem: c.Problem, NoneValid: c.Published.IsEmpty(), Lagging: c.lagging,
		TrustPending: c.Published.ContentHash() != c.Wanted.ContentHash(),
	})
}
