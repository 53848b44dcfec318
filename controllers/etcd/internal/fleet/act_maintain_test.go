package fleet

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
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

// failingServer answers the request to defragment with an error.
type failingServer struct {
	server
	err error
}

func (f failingServer) Defragment(context.Context) error { return f.err }

// A member that has written its data again, or has tried, is known for an hour; one that was not asked is not.
func TestADefragmentationIsRememberedForAnHour(t *testing.T) {
	m := formed(3, 3, true)
	e := &databasev1alpha1.EtcdCluster{Status: *m.Status.DeepCopy()}
	f := m.fleet(e, &modelEffects{model: m, object: e, version: m.Version})
	f.servers["a-1"] = failingServer{f.servers["a-1"], errors.New("no space left on device")}
	f.servers["a-2"] = failingServer{f.servers["a-2"], wire.ErrBusy}
	f.Spec.HasStorage, f.Cluster.Status.Membership.KeptDataIDs = true, []string{"kept"}
	for _, name := range []string{"a-0", "a-1", "a-2"} {
		err := f.Act(t.Context(), membership.Step{Do: membership.Defragment, Member: name})
		if failed := name == "a-1"; failed != (err != nil && strings.Contains(err.Error(), "device; data of members that were given up")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	now := f.Clock.Now()
	for name, want := range map[string]bool{"a-0": true, "a-1": true, "a-2": false} {
		if got := f.Memory.defragmentedLately(name, now.Add(membership.DefragPause-time.Second)); got != want {
			t.Errorf("%s, shortly before the hour is over: %v", name, got)
		}
		if f.Memory.defragmentedLately(name, now.Add(membership.DefragPause)) {
			t.Errorf("%s, after the hour", name)
		}
	}
	f.Look(t.Context())
	if first, _ := f.Find("a-0"); !first.DefragmentedLately {
		t.Error("the plan does not see it")
	}
}
