package topology_test

import (
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// A recreated StatefulSet takes its pods back one by one: none of them is lost meanwhile.
func TestRecordedPods(t *testing.T) {
	rep := fixture.Healthy(2).Status.Replication
	if !topology.IsRecorded(rep, "uid-a-0") || !topology.IsRecorded(rep, "uid-a-1") || topology.IsRecorded(rep, "uid-a-2") {
		t.Error("the recorded pods are those of the master and the sync set")
	}
	if topology.IsRecorded(nil, "uid-a-0") {
		t.Error("nothing is recorded")
	}
}
