package memcached

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

// certificatesInSync says whether all nodes serve what the user's Secret says. A
// Secret that is of no use needs a human; what was served before stays until then.
func certificatesInSync(m *cachev1alpha1.Memcached, c certificate, late []string) {
	list := &m.Status.Conditions
	if m.Spec.TLS == nil {
		meta.RemoveStatusCondition(list, commonv1.ConditionCertificatesInSync)
		return
	}
	set := func(inSync bool, reason, message string) {
		conditions.Set(list, m.Generation, commonv1.ConditionCertificatesInSync, inSync, reason, message)
	}
	switch {
	case c.problem != "" && c.None():
		set(false, commonv1.ReasonSecretUnusable, tlsField+": "+c.problem)
	case c.problem != "":
		set(false, commonv1.ReasonSecretUnusable, tlsField+": "+c.problem+"; until it is mended the last good certificate stays")
		conditions.Set(list, m.Generation, commonv1.ConditionDegraded, true, commonv1.ReasonSecretUnusable, tlsField+": "+c.problem)
	case c.None():
		return // it could not be read yet
	case len(late) > 0:
		set(false, commonv1.ReasonReloading, strings.Join(late, ", ")+" is not known to serve the certificate that the Secret says")
	default:
		set(true, commonv1.ReasonCertificatesLoaded, "every node serves the certificate that the Secret says")
	}
}
