package config_test

import (
	"testing"
	"time"

	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
)

// A server that runs a script says nothing until the threshold has passed.
func TestSilenceAllowsForAScript(t *testing.T) {
	for _, c := range []struct {
		reason            string
		threshold, runs   string // of the spec, and of the servers; "" for none
		failureThreshold  int32
		want, wantApplied time.Duration
	}{
		{"the default is Redis' own", "", "", 3, 7 * time.Second, 7 * time.Second},
		{"a lower one counts once the servers have it", "1000", "", 3, 3 * time.Second, 7 * time.Second},
		{"a lower one that the servers have counts", "1000", "1000", 3, 3 * time.Second, 3 * time.Second},
		{"a higher one counts at once", "20000", "", 3, 22 * time.Second, 22 * time.Second},
		{"one that the servers still have counts", "1000", "20000", 3, 3 * time.Second, 22 * time.Second},
		{"the user's patience counts if it is longer", "1000", "1000", 10, 10 * time.Second, 10 * time.Second},
		{"not more than a minute is waited for", "3600000", "3600000", 3, 62 * time.Second, 62 * time.Second},
		{"not more than a minute is waited for where a server never answers", "0", "0", 3, 62 * time.Second, 62 * time.Second},
		{"what no server accepts does not count", "5e3", "", 3, 7 * time.Second, 7 * time.Second},
		{"a threshold below zero does not count", "-1", "", 3, 7 * time.Second, 7 * time.Second},
	} {
		t.Run(c.reason, func(t *testing.T) {
			r, accepted := fixture.Sized(3), Settings{Live: map[string]string{}}
			r.Spec.Failover = &cachev1alpha1.RedisFailureDetection{FailureThreshold: ptr.To(c.failureThreshold)}
			if c.threshold != "" {
				r.Spec.Config = fixture.OneDirective(BusyReplyThreshold, c.threshold)
			}
			if c.runs != "" {
				accepted.Live[BusyReplyThreshold] = c.runs
			}
			spec := Resolve(r)
			if got, applied := spec.SilenceLimit, spec.AllowingFor(accepted).SilenceLimit; got != c.want || applied != c.wantApplied {
				t.Errorf("got %s and %s, want %s and %s", got, applied, c.want, c.wantApplied)
			}
		})
	}
}
