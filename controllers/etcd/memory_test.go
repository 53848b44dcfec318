package etcd

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

func TestAPodThatWasDeletedIsNotDeletedAgain(t *testing.T) {
	var m memory
	e, now := &databasev1alpha1.EtcdCluster{}, time.Unix(1_000, 0)
	m.noteDeleted(e, "one", now)
	m.noteDeleted(e, "two", now.Add(deletionLag))
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
		if got := m.wasDeleted(e, types.UID(c.pod), c.at); got != c.want {
			t.Errorf("%s after %s: %v", c.pod, c.at.Sub(now), got)
		}
	}
}
