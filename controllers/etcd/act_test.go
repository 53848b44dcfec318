package etcd

import (
	"strings"
	"testing"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

func TestPermitsToWrite(t *testing.T) {
	for _, c := range []struct {
		name    string
		arrange func(one *databasev1alpha1.EtcdRecordedMember, m *membership.Member)
		want    bool
	}{
		{"a pod that was given nothing", func(_ *databasev1alpha1.EtcdRecordedMember, m *membership.Member) { m.Pod.Permit = "" }, true},
		{"a pod that has its permit", func(*databasev1alpha1.EtcdRecordedMember, *membership.Member) {}, false},
		{"not one that is going", func(_ *databasev1alpha1.EtcdRecordedMember, m *membership.Member) {
			m.Pod.Permit, m.Pod.Deleting = "", true
		}, false},
		{"one that must know more, while it is silent",
			func(one *databasev1alpha1.EtcdRecordedMember, _ *membership.Member) { one.Joined = true }, true},
		{"not one that was asked to be another, as the record may be older",
			func(one *databasev1alpha1.EtcdRecordedMember, _ *membership.Member) {
				one.DataID = "older"
			}, false},
		{"not once its server answers", func(one *databasev1alpha1.EtcdRecordedMember, m *membership.Member) {
			one.Joined, m.View.Answered = true, true
		}, false},
		{"a pod is informed that its member has run, though its server answers",
			func(one *databasev1alpha1.EtcdRecordedMember, m *membership.Member) {
				one.Ran, m.View.Answered = true, true
			}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			record := &databasev1alpha1.EtcdMembership{Members: []databasev1alpha1.EtcdRecordedMember{{Name: "a-0", DataID: "d", StartedBy: "p"}}}
			s := membership.Situation{Status: &databasev1alpha1.EtcdClusterStatus{Membership: record}}
			m := membership.Member{Name: "a-0", Record: &record.Members[0], Pod: membership.Pod{UID: "p"}}
			m.Pod.Permit = s.Permit(m)
			c.arrange(&record.Members[0], &m)
			s.Members = []membership.Member{m}
			if _, got := missingPermits(s)["a-0"]; got != c.want {
				t.Errorf("it gets a permit: %v", got)
			}
		})
	}
}

// A pass that has put another record in the place of the one that it had read gives no pod a permit by the former one.
func TestPermitsFollowTheLatestRecord(t *testing.T) {
	m := replaced(1, true)
	for range 5 { // until the restore is recorded
		for i := range m.Fetches {
			m.Fetches[i].Has = true
		}
		m.Pods[0].Serves, m.Pods[0].Runs = false, false // so that it is given whatever is new
		m.Status.Membership.Members[0].Ran = false
		if _, err := runPass(0, false)(m); err != nil {
			t.Fatal(err)
		}
		if m.isReplacing() {
			break
		}
	}
	if !m.isReplacing() || strings.Contains(m.Pods[0].Permit, "restore") {
		t.Errorf("the earlier pod is given the permit %s", m.Pods[0].Permit)
	}
}

func TestARecoverySavesWhatItContinuesFrom(t *testing.T) {
	m := lostMajority(3)
	m.Status.Membership.Members[2].Ran, m.Status.CompactedRevision = false, 9
	for range 30 { // a pass does one step, and the lost members must be seen to be
		for i := range 2 {
			if err := m.startServer(i); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := allowRecovery(m); err != nil {
			t.Fatal(err)
		}
		if _, err := runPass(0, false)(m); err != nil {
			t.Fatal(err)
		}
		if m.Status.LastRecovery != nil {
			break
		}
	}
	r, record := m.Status.LastRecovery, m.Status.Membership
	if r == nil || r.Member != "a-2" || len(r.Lost) != 2 || r.Revision != int64(1+m.Volumes[2].Writes) || m.Status.CompactedRevision != 0 {
		t.Errorf("got %+v", r)
	}
	if len(record.Members) != 1 || !record.Members[0].Ran || record.Change == nil || record.Change.Recovery == "" {
		t.Errorf("got %+v", record)
	}
}

// A verb that acts and has no act would be done with at once.
func TestEachVerbThatActsHasAnAct(t *testing.T) {
	acting := membership.ActingVerbs()
	for _, verb := range acting {
		if acts[verb] == nil {
			t.Errorf("%s has no act", verb)
		}
	}
	if len(acts) != len(acting) {
		t.Errorf("%d acts for %d verbs", len(acts), len(acting))
	}
}
