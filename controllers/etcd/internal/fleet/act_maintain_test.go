package fleet

import (
	"testing"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// An alarm is compacted for once: that is recorded until the last member's alarm is taken back, and the next one starts with it.
func TestEachAlarmIsCompactedForOnce(t *testing.T) {
	m := formed(3, 3, true)
	e := &databasev1alpha1.EtcdCluster{Status: *m.Status.DeepCopy()}
	f := m.fleet(e, &modelEffects{model: m, object: e, version: m.Version})
	now := f.Clock.Now()
	do := func(s membership.Step) {
		t.Helper()
		if err := f.Act(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	f.Members[0].View.Revision = 9
	do(membership.Step{Do: membership.Compact, Member: "a-0"})
	if m.Status.CompactedRevision != 9 || !f.Memory.compactedLately(now) || f.Memory.compactedLately(now.Add(membership.CompactionPause)) {
		t.Errorf("after the compaction: revision %d", m.Status.CompactedRevision)
	}
	f.Alarms = []membership.Alarm{{ID: 1, Type: membership.AlarmNoSpace}, {ID: 2, Type: membership.AlarmNoSpace}}
	do(membership.Step{Do: membership.Disarm, Alarm: f.Alarms[0]})
	if m.Status.CompactedRevision != 9 {
		t.Error("the alarm of another member is still raised")
	}
	f.Alarms = f.Alarms[1:]
	do(membership.Step{Do: membership.Disarm, Alarm: f.Alarms[0]})
	if m.Status.CompactedRevision != 0 {
		t.Error("the next alarm does not start with a compaction")
	}
}
