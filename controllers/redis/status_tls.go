package redis

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

// certificatesInSync says whether all nodes use what the user's Secret says. A
// Secret that is of no use needs a human; what was used before stays until then.
func certificatesInSync(list *[]metav1.Condition, r *cachev1alpha1.Redis, w world, c certificates) {
	if r.Spec.TLS == nil {
		return
	}
	set := func(inSync bool, reason, message string) {
		conditions.Set(list, r.Generation, commonv1.ConditionCertificatesInSync, inSync, reason, message)
	}
	late := w.where(func(m member) bool { return !m.answers() || w.unloaded(m) })
	switch {
	case c.problem != "":
		set(false, commonv1.ReasonSecretUnusable, tlsField+": "+c.problem+"; until it is mended the last good certificate stays")
		conditions.Set(list, r.Generation, commonv1.ConditionDegraded, true, commonv1.ReasonSecretUnusable, tlsField+": "+c.problem)
	case len(late) > 0:
		set(false, commonv1.ReasonReloading, strings.Join(namesOf(late), ", ")+" is not known to use the certificate that was published last")
	case c.published.Version() != c.wanted.Version():
		set(false, commonv1.ReasonReloading, "the nodes learn to trust another authority before they use its certificate")
	default:
		set(true, commonv1.ReasonCertificatesLoaded, "every node uses the certificate that the Secret says")
	}
}
