package redis

import (
	"context"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
	"k8s.io/utils/clock"
)

// A status put back from a backup is older than the volumes. What is recorded is on
// the master's volume first: the object may be deleted the moment after.
// pinnedMaster answers as a master that keeps its history.
type pinnedMaster struct{ server }

func (pinnedMaster) Look(context.Context) wire.View {
	return wire.View{Answer: wire.Reached, Master: true, Pinned: true, ReplID: history}
}

func TestEpochIsBeyondAllVolumes(t *testing.T) {
	s := withVolumes(healthy(3))
	setStamp(s, "a-2", 9, leading)
	if got := s.situation().plan(); got.do != recordMaster || got.nodes[0] != "a-0" {
		t.Fatalf("got %s", got)
	}
	var borne stamp
	told := scripted{onStamp: func(name string, is stamp) error {
		if name == "a-0" {
			borne = is
		}
		return nil
	}, onSave: func() error {
		if borne.epoch != 10 || borne.standing != leading {
			t.Errorf("saved while the volume bears %+v", borne)
		}
		return nil
	}}
	f := &fleet{spec: resolve(s.Redis), world: s.world, effects: told, servers: map[string]server{"a-0": pinnedMaster{}}}
	r := &Reconciler{clock: clock.RealClock{}}
	if err := r.doRecordMaster(t.Context(), s.Redis, f, step{do: recordMaster, nodes: []string{"a-0"}}); err != nil || s.Status.Epoch != 10 || s.Status.Replication.Epoch != 10 {
		t.Errorf("%v, epoch %d", err, s.Status.Epoch)
	}
}
