package launcher

import (
	"os"
	"slices"
	"strconv"
	"testing"
)

// A recovery that ends below what a human has allowed serves no client, however often its container restarts, until one allows that, too.
func TestARecoveryEndsAtNoEarlierRevisionThanWasAllowed(t *testing.T) {
	dir := recovering(t, "serves")
	permitRecovery(t, dir, "r", 8)
	for range 2 {
		isRefused(t, dir, 7, os.Args[0], fakeEtcd, "--listen-client-urls=http://0.0.0.0:2379")
	}
	permitRecovery(t, dir, "next", 7)
	if _, message, code := run(t, dir, StartCommand, os.Args[0], fakeEtcd, "--listen-client-urls=http://0.0.0.0:2379"); code != 0 {
		t.Errorf("it said %q, exit code %d", message, code)
	}
	if got, want := calls(t, dir), []string{"forced", "ended", "forced", "ended", "forced", "ended", "served"}; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// isRefused checks that a recovery by these words ends at that revision, which is below the one that was allowed.
func isRefused(t *testing.T, dir string, at int64, words ...string) {
	t.Helper()
	_, message, code := run(t, dir, append([]string{StartCommand}, words...)...)
	if code != ExitBelowAllowed || message != BelowAllowed+strconv.FormatInt(at, 10) {
		t.Errorf("it said %q, exit code %d", message, code)
	}
}

func TestTheRevisionOfARecovery(t *testing.T) {
	for _, c := range []struct {
		name, metrics string
		want          int64
	}{
		{"among others", "a 1\n" + RevisionMetric + " 41\nb 2\n", 41},
		{"a large one", "a 1\n" + RevisionMetric + " 1.234567e+06\n", 1234567},
		{"none", "a 1\n", 0},
		{"no number", "\n" + RevisionMetric + " NaN\n", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := revisionIn([]byte(c.metrics)); got != c.want || (err != nil) != (c.want == 0) {
				t.Errorf("got %d, %v", got, err)
			}
		})
	}
}
