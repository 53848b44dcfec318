package backup

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// What a manifest says of keys with a time to live reaches the human who restores the backup.
func TestKeysWithATimeToLiveAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		keys, expires int64
		want          string // "" for nothing
	}{
		"some keys have one":                        {keys: 10, expires: 3, want: "3 of the 10 keys in the backup of 2026-01-02T15:04:05Z had"},
		"no key has one":                            {keys: 10},
		"an etcd has no such keys":                  {},
		"the dump could not be counted":             {keys: -1, expires: -1},
		"more have one than there are":              {keys: 1, expires: 3, want: "3 of the 3 keys"},
		"negative counts of a runner are corrected": {keys: -5, expires: 7, want: "7 of the 7 keys"},
	} {
		t.Run(name, func(t *testing.T) {
			m := Manifest{Item: "20260102T150405Z-89abcdef", SHA256: strings.Repeat("a", sha256Digits),
				Time: time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC), Keys: c.keys, Expires: c.expires}
			item := m.StatusItem(true)
			text, err := json.Marshal(Result{Item: &item, Keys: m.Keys, Expires: m.Expires})
			if err != nil {
				t.Fatal(err)
			}
			got := ReadFetch(corev1.ContainerStateTerminated{Message: string(text)}).ExpiryNote()
			if (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
				t.Errorf("got %q", got)
			}
		})
	}
}
