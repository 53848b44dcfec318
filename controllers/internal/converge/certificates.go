package converge

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

const (
	// TLSSecretField is the field that names the Secret with the certificate, as messages name it.
	TLSSecretField = "tls.secretName"
	// certificateReread is how soon a Secret that could not be read is tried again.
	certificateReread = 5 * time.Second
)

// Certificates returns the certificate that the servers were given, and the one in the user's Secret of that name, as judge
// finds it. published is the former, empty if there was none yet. If the user's is of no use, that is reported and holds up
// nothing but the first start, which the error ends.
func (u *UserSecrets) Certificates(ctx context.Context, owner Object, name string, published pki.Identity,
	judge func(data map[string][]byte) (found pki.Identity, problem string), now time.Time) (pki.Certificates, error) {
	c := pki.Certificates{Published: published}
	var err error
	c.Wanted, c.Problem, c.RecheckAfter, err = u.Judge(ctx, owner, name, judge, now)
	switch {
	case err == nil:
	case published.IsEmpty():
		return c, fmt.Errorf("%s: %w", TLSSecretField, err)
	default: // what is known is kept
		log.FromContext(ctx).Error(err, TLSSecretField)
		c.RecheckAfter = certificateReread
	}
	switch {
	case published.IsEmpty() && c.Problem != "":
		conditions.SetSecretUnusable(owner.GetConditions(), owner.GetGeneration(), commonv1.ConditionCertificatesInSync,
			TLSSecretField, c.Problem, "")
		return c, Invalid(TLSSecretField, "%s", c.Problem)
	case published.IsEmpty():
		c.Published = c.Wanted
	case c.Wanted.IsEmpty():
		c.Wanted = published
	}
	return c, nil
}
