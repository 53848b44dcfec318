package converge

import (
	"context"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

// verdict is what was found in a user's Secret with a certificate. It holds while neither the Secret nor the spec that it is
// judged for changes, nor a time in a certificate passes: to judge costs much more than to read.
type verdict struct {
	secret, resourceVersion string
	generation              int64
	from, until             time.Time // zero until: for ever

	found   pki.Identity
	problem string
}

func (v *verdict) holds(other verdict, now time.Time) bool {
	return v.secret == other.secret && v.resourceVersion == other.resourceVersion && v.generation == other.generation &&
		!v.from.IsZero() && !now.Before(v.from) && (v.until.IsZero() || now.Before(v.until))
}

// Judge returns what judge finds in the user's Secret of that name: an identity, or what is wrong with it. recheckAfter is how soon
// that may change by itself; 0 is never. judge is called again only if the Secret, the owner's generation or the time asks for it.
func (u *UserSecrets) Judge(ctx context.Context, owner Object, name string, judge func(data map[string][]byte) (pki.Identity, string),
	now time.Time) (found pki.Identity, problem string, recheckAfter time.Duration, err error) {
	content, err := u.content(ctx, owner, name)
	if err != nil {
		return pki.Identity{}, "", 0, err
	}
	known, unlock := u.judged.Lock(owner)
	v := *known
	unlock()
	if asked := (verdict{secret: name, resourceVersion: content.resourceVersion, generation: owner.GetGeneration()}); !v.holds(asked, now) {
		v = asked
		v.found, v.problem = judge(content.Data)
		v.from = now
		if next := pki.NextChange(content.Data, now); next > 0 {
			v.until = now.Add(next)
		}
		known, unlock = u.judged.Lock(owner)
		*known = v
		unlock()
	}
	if !v.until.IsZero() {
		recheckAfter = v.until.Sub(now)
	}
	return v.found, v.problem, recheckAfter, nil
}
