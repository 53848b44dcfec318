package converge

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

// oneVersionCache is a cache that knows every object by one version.
type oneVersionCache struct {
	cache.Cache
	version string
}

func (o *oneVersionCache) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	into.SetResourceVersion(o.version)
	return nil
}

// A hostile Secret can make a verdict costly, so a pass judges it only once.
func TestASecretIsJudgedOnceUntilSomethingChanges(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	known := &oneVersionCache{version: "1"}
	data := authority.New("one").Issue("host") // it lasts an hour, and its authority two
	secrets := NewUserSecrets(ContentReader{metadataCache: known, newMetadata: SecretMetadata,
		fetch: func(context.Context, client.ObjectKey) (map[string][]byte, error) { return data, nil }})
	of := func(uid string, generation int64) *owner {
		return &owner{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: types.UID(uid), Generation: generation}}
	}
	judged := 0
	for _, c := range []struct {
		reason  string
		owner   *owner
		name    string
		version string
		at      time.Duration
		again   bool
	}{
		{"the first pass", of("a", 1), "s", "1", 0, true},
		{"another pass", of("a", 1), "s", "1", 0, false},
		{"some time later", of("a", 1), "s", "1", 59 * time.Minute, false},
		{"a new version of the Secret", of("a", 1), "s", "2", 59 * time.Minute, true},
		{"the same", of("a", 1), "s", "2", 59 * time.Minute, false},
		{"another spec", of("a", 2), "s", "2", 59 * time.Minute, true},
		{"another Secret", of("a", 2), "t", "2", 59 * time.Minute, true},
		{"once the certificate has expired", of("a", 2), "t", "2", 61 * time.Minute, true},
		{"still expired", of("a", 2), "t", "2", 62 * time.Minute, false},
		{"once the authority has expired, too", of("a", 2), "t", "2", 121 * time.Minute, true},
		{"long after", of("a", 2), "t", "2", 1000 * time.Hour, false},
		{"a clock that was set back", of("a", 2), "t", "2", 0, true},
		{"another object of that name", of("b", 2), "t", "2", 0, true},
	} {
		before := judged
		known.version = c.version
		found, problem, recheckAfter, err := secrets.Judge(t.Context(), c.owner, c.name, func(map[string][]byte) (pki.Identity, string) {
			judged++
			return pki.Identity{Certificate: []byte(c.reason)}, "problem"
		}, now.Add(c.at))
		if again := judged > before; again != c.again || err != nil || problem != "problem" || found.IsEmpty() {
			t.Errorf("%s: judged again %v, want %v: %q, %v", c.reason, again, c.again, problem, err)
		}
		if left := recheckAfter + c.at; c.at < time.Hour && (left < time.Hour || left > time.Hour+10*time.Second) {
			t.Errorf("%s: it is to be judged again after %s", c.reason, recheckAfter)
		}
	}
	if secrets.Forget(client.ObjectKey{Namespace: "n", Name: "a"}); len(secrets.judged.objects) != 0 {
		t.Error("the verdict outlives its object")
	}
}
