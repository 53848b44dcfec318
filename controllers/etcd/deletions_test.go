package etcd

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestAPodThatWasDeletedIsNotDeletedAgain(t *testing.T) {
	var d deletions
	now := time.Unix(1_000, 0)
	d.note("one", now)
	d.note("two", now.Add(deletionLag))
	for _, c := range []struct {
		pod  string
		at   time.Time
		want bool
	}{
		{"two", now.Add(deletionLag), true},
		{"one", now.Add(deletionLag), false},
		{"two", now.Add(2 * deletionLag), false},
		{"three", now, false},
	} {
		if got := d.has(types.UID(c.pod), c.at); got != c.want {
			t.Errorf("%s after %s: %v", c.pod, c.at.Sub(now), got)
		}
	}
}
