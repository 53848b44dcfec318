package membership

import (
	"testing"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

func TestOnlyClaimsOfRemovedMembersAreUnneeded(t *testing.T) {
	for _, c := range []struct {
		name    string
		data    string
		arrange func(*Situation)
		want    bool
	}{
		{"the member is removed", "t", func(*Situation) {}, true},
		{"no member has started on it", "", func(*Situation) {}, true},
		{"it has the data of another cluster", "other", func(*Situation) {}, false},
		{"etcd lists it", "t", func(s *Situation) { s.Members = []Member{{Name: "a-1", Listed: &ListedMember{}}} }, false},
		{"etcd cannot be asked", "t", func(s *Situation) { s.Listed = false }, false},
		{"its pod is still there", "t", func(s *Situation) { s.Members = []Member{{Name: "a-1", Pod: Pod{UID: "p"}}} }, false},
		{"a change is recorded", "t", func(s *Situation) { s.Status.Membership.Change = &databasev1alpha1.EtcdMembershipChange{} }, false},
		{"a backup replaces the data", "t", func(s *Situation) {
			s.Status.Membership.Restore = &databasev1alpha1.EtcdMembershipRestore{}
		}, false},
		{"members were given up", "t", func(s *Situation) { s.Status.LastRecovery = &databasev1alpha1.EtcdRecovery{} }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			record := &databasev1alpha1.EtcdMembership{Token: "t", Members: []databasev1alpha1.EtcdRecordedMember{{Name: "a-0"}}}
			s := Situation{Status: &databasev1alpha1.EtcdClusterStatus{Membership: record}, World: World{Listed: true}}
			c.arrange(&s)
			if s.HasPlace("a-1") || s.IsClaimUnneeded("a-1", c.data) != c.want {
				t.Errorf("a place: %t, unneeded: %t", s.HasPlace("a-1"), s.IsClaimUnneeded("a-1", c.data))
			}
		})
	}
}
