package fleet

import (
	"context"
	"testing"

	"k8s.io/utils/clock"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// pinnedMaster answers as a master that keeps its history.
type pinnedMaster struct{ server }

func (pinnedMaster) Look(context.Context) wire.View {
	return wire.View{Answer: wire.Reached, Master: true, Pinned: true, ReplID: fixture.History}
}

// A status put back from a backup is older than the volumes. What is recorded is on
// the master's volume first: the object may be deleted the moment after.
func TestEpochIsBeyondAllVolumes(t *testing.T) {
	s := fixture.WithVolumes(fixture.Healthy(3))
	fixture.SetStamp(s, "a-2", 9, topology.Leading)
	if got := s.Situation().Plan(); got.Do != topology.RecordMaster || got.NodeNames[0] != "a-0" {
		t.Fatalf("got %s", got)
	}
	var borne topology.Stamp
	stamping := scripted{onStamp: func(name string, is topology.Stamp) error {
		if name == "a-0" {
			borne = is
		}
		return nil
	}, onSave: func() error {
		if borne.Epoch != 10 || borne.Standing != topology.Leading {
			t.Errorf("saved while the volume bears %+v", borne)
		}
		return nil
	}}
	f := startOperator(clock.RealClock{}).fleetOf(s.Redis)
	f.World, f.effects, f.servers = s.World, stamping, map[string]server{"a-0": pinnedMaster{}}
	if err := f.doRecordMaster(t.Context(), topology.Step{Do: topology.RecordMaster, NodeNames: []string{"a-0"}}); err != nil ||
		s.Status.Epoch != 10 || s.Status.Replication.Epoch != 10 {
		t.Errorf("%v, epoch %d", err, s.Status.Epoch)
	}
}
