package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// setCertificatesInSync says whether all members of an object with TLS use the published certificate.
func setCertificatesInSync(list *[]metav1.Condition, in Inputs) {
	c := in.Certificates
	if in.Situation.TLS == nil || in.Cluster.Status.Membership == nil {
		return
	}
	conditions.SetCertificatesInSync(list, in.Cluster.Generation, conditions.Certificates{
		Field: converge.TLSSecretField, Problem: c.Problem, NoneValid: c.Published.IsEmpty(), Lagging: in.Lagging,
		TrustPending: c.Published.ContentHash() != c.Wanted.ContentHash(),
	})
}
