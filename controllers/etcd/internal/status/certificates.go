package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// setCertificatesInSync says whether all members of an object with TLS use the published certificate.
func setCertificatesInSync(list *[]metav1.Condition, in Inputs) {
	if in.haveCertificates() {
		conditions.SetCertificatesInSync(list, in.Cluster.Generation, in.clientCertificates())
	}
}

// certificateUnusable is the problem with the Secret of the certificate that clients are shown.
func (i Inputs) certificateUnusable() *conditions.Problem {
	if !i.haveCertificates() {
		return nil
	}
	return i.clientCertificates().Unusable()
}

// haveCertificates reports whether there are members that are to show certificates to clients.
func (i Inputs) haveCertificates() bool {
	return i.Situation.TLS != nil && i.Cluster.Status.Membership != nil
}

func (i Inputs) clientCertificates() conditions.Certificates {
	return conditions.Certificates{
		Field: converge.TLSSecretField, Problem: i.Certificates.Problem, NoneValid: i.Certificates.Published.IsEmpty(), Lagging: i.Lagging,
		TrustPending: i.Certificates.Published.ContentHash() != i.Certificates.Wanted.ContentHash(),
	}
}
