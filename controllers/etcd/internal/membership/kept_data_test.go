package membership

import (
	"strings"
	"testing"
)

// A human who reads that a disk has no room learns of data that no server reports, and is not led to delete the only copy.
func TestKeptDataIsNamedWhereRoomIsMissing(t *testing.T) {
	const advice = "delete the PersistentVolumeClaim and the pod of one member at a time"
	for _, c := range []struct {
		name           string
		given          func(*scene)
		named, advised bool
	}{
		{"without kept data nothing is said", func(*scene) {}, false, false},
		{"kept data is named, and how to part with it", func(s *scene) { s.Status.Membership.KeptDataIDs = []string{"kept"} }, true, true},
		{"the only member does not part with its volume", func(s *scene) {
			s.Status.Membership.KeptDataIDs, s.Status.Membership.Members = []string{"kept"}, s.Status.Membership.Members[:1]
		}, true, false},
		{"without storage it went with its pod", func(s *scene) {
			s.Status.Membership.KeptDataIDs, s.HasStorage = []string{"kept"}, false
		}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene()
			c.given(s)
			got := s.ExplainKeptData()
			if strings.Contains(got, "status.membership.keptDataIDs") != c.named || strings.Contains(got, advice) != c.advised {
				t.Errorf("got %q", got)
			}
		})
	}
}
