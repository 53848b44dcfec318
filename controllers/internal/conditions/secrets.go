package conditions

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// SecretUnusable is the problem that the Secret which a field names is of no use. A kind lists it if a fallback serves until the
// Secret is fixed. If there is none, the pass fails, and its error reports the problem.
func SecretUnusable(field, problem string) *Problem {
	return &Problem{Reason: commonv1.ReasonSecretUnusable, Message: field + ": " + problem}
}

// SetSecretUnusable says in a condition of that type that the Secret which a field names is of no use, and what serves until it is
// fixed. Without such a fallback, an object that is not Available gives this as its reason, too.
func SetSecretUnusable(list *[]metav1.Condition, generation int64, conditionType, field, problem, fallback string) {
	p := SecretUnusable(field, problem)
	if fallback != "" {
		Set(list, generation, conditionType, false, p.Reason, p.Message+"; until it is fixed "+fallback)
		return
	}
	Set(list, generation, conditionType, false, p.Reason, p.Message)
	if !meta.IsStatusConditionTrue(*list, commonv1.ConditionAvailable) {
		Set(list, generation, commonv1.ConditionAvailable, false, p.Reason, p.Message)
	}
}

// Certificates is what is known of the certificates that a user's Secret gives to nodes.
type Certificates struct {
	// Field is the one that names the Secret.
	Field string
	// Problem is what is wrong with the Secret, or "".
	Problem string
	// NoneValid is true when no certificate was ever good.
	NoneValid bool
	// Lagging are the nodes that are not known to use the certificate that was published last.
	Lagging []string
	// TrustPending is true while the published certificate is not yet the Secret's own.
	TrustPending bool
}

// Unusable is the problem with the Secret while the last good certificate stays in use; nil otherwise.
func (c Certificates) Unusable() *Problem {
	if c.Problem == "" || c.NoneValid {
		return nil
	}
	return SecretUnusable(c.Field, c.Problem)
}

// SetCertificatesInSync says whether all nodes use the certificate in the user's Secret.
func SetCertificatesInSync(list *[]metav1.Condition, generation int64, c Certificates) {
	set := func(inSync bool, reason, message string) {
		Set(list, generation, commonv1.ConditionCertificatesInSync, inSync, reason, message)
	}
	switch {
	case c.Problem != "" && c.NoneValid:
		SetSecretUnusable(list, generation, commonv1.ConditionCertificatesInSync, c.Field, c.Problem, "")
	case c.Problem != "":
		SetSecretUnusable(list, generation, commonv1.ConditionCertificatesInSync, c.Field, c.Problem, "the last good certificate stays")
	case c.NoneValid: // it could not be read yet
	case len(c.Lagging) > 0:
		set(false, commonv1.ReasonReloading, "not known to use the certificate that was published last: "+strings.Join(c.Lagging, ", "))
	case c.TrustPending:
		set(false, commonv1.ReasonReloading, "the nodes learn to trust another authority before they use its certificate")
	default:
		set(true, commonv1.ReasonCertificatesLoaded, "every node uses the certificate that the Secret says")
	}
}
