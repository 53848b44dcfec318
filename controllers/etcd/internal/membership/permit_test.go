package membership

import (
	"testing"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

func TestPermitsToWrite(t *testing.T) {
	for _, c := range []struct {
		name    string
		arrange func(recorded *databasev1alpha1.EtcdRecordedMember, m *Member)
		want    bool
	}{
		{"a pod that was given nothing", func(_ *databasev1alpha1.EtcdRecordedMember, m *Member) { m.Pod.Permit = "" }, true},
		{"a pod that has its permit", func(*databasev1alpha1.EtcdRecordedMember, *Member) {}, false},
		{"not one that is going", func(_ *databasev1alpha1.EtcdRecordedMember, m *Member) {
			m.Pod.Permit, m.Pod.Deleting = "", true
		}, false},
		{"one that must know more, while it is silent",
			func(recorded *databasev1alpha1.EtcdRecordedMember, _ *Member) { recorded.Joined = true }, true},
		{"not one that was asked to be another, as the record may be older",
			func(recorded *databasev1alpha1.EtcdRecordedMember, _ *Member) {
				recorded.DataID = "older"
			}, false},
		{"not once its server answers", func(recorded *databasev1alpha1.EtcdRecordedMember, m *Member) {
			recorded.Joined, m.View.Answered = true, true
		}, false},
		{"a pod is informed that its member has run, though its server answers",
			func(recorded *databasev1alpha1.EtcdRecordedMember, m *Member) {
				recorded.Ran, m.View.Answered = true, true
			}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			record := &databasev1alpha1.EtcdMembership{Members: []databasev1alpha1.EtcdRecordedMember{{Name: "a-0", DataID: "d", StartedBy: "p"}}}
			s := Situation{Status: &databasev1alpha1.EtcdClusterStatus{Membership: record}}
			m := Member{Name: "a-0", Record: &record.Members[0], Pod: Pod{UID: "p"}}
			m.Pod.Permit = s.Permit(m)
			c.arrange(&record.Members[0], &m)
			s.Members = []Member{m}
			if _, got := s.MissingPermits()["a-0"]; got != c.want {
				t.Errorf("it gets a permit: %v", got)
			}
		})
	}
}
