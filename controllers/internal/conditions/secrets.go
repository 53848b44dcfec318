package conditions

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// Unusable says of a condition that the Secret which a field names is of no use. Where
// something stands until it is mended, Degraded says so, too; where nothing does, the
// pass has failed and its error says it; what was never there does not serve.
func Unusable(list *[]metav1.Condition, generation int64, kind, field, problem, stands string) {
	problem = field + ": " + problem
	if stands == "" {
		Set(list, generation, kind, false, commonv1.ReasonSecretUnusable, problem)
		if !meta.IsStatusConditionTrue(*list, commonv1.ConditionAvailable) {
			Set(list, generation, commonv1.ConditionAvailable, false, commonv1.ReasonSecretUnusable, problem)
		}
		return
	}
	Set(list, generation, kind, false, commonv1.ReasonSecretUnusable, problem+"; until it is mended "+stands)
	Set(list, generation, commonv1.ConditionDegraded, true, commonv1.ReasonSecretUnusable, problem)
}

// Certificates are what is known of those that a user's Secret gives to nodes.
type Certificates struct {
	// Field that names the Secret.
	Field string
	// Problem with the Secret, or "".
	Problem string
	// None is true when none was ever good.
	None bool
	// Late are the nodes that are not known to use the one that was published last.
	Late []string
	// Learning is true while that is not yet the Secret's own.
	Learning bool
}

// CertificatesInSync says whether all nodes use what the user's Secret says.
func CertificatesInSync(list *[]metav1.Condition, generation int64, c Certificates) {
	set := func(inSync bool, reason, message string) {
		Set(list, generation, commonv1.ConditionCertificatesInSync, inSync, reason, message)
	}
	switch {
	case c.Problem != "" && c.None:
		Unusable(list, generation, commonv1.ConditionCertificatesInSync, c.Field, c.Problem, "")
	case c.Problem != "":
		Unusable(list, generation, commonv1.ConditionCertificatesInSync, c.Field, c.Problem, "the last good certificate stays")
	case c.None: // it could not be read yet
	case len(c.Late) > 0:
		set(false, commonv1.ReasonReloading, "not known to use the certificate that was published last: "+strings.Join(c.Late, ", "))
	case c.Learning:
		set(false, commonv1.ReasonReloading, "the nodes learn to trust another authority before they use its certificate")
	default:
		set(true, commonv1.ReasonCertificatesLoaded, "every node uses the certificate that the Secret says")
	}
}
