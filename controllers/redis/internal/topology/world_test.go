package topology_test

import (
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// A recreated StatefulSet takes its pods back one by one: none of them is lost meanwhile.
func TestRecordedPods(t *testing.T) {
	r := fixture.Healthy(2).Redis
	if !topology.IsRecorded(r.Status.Replication, "uid-a-0") || !topology.IsRecorded(r.Status.Replication, "uid-a-1") || topology.IsRecorded(r.Status.Replication, "uid-a-2") {
		t.Error("the recorded pods are those of the master and the sync set")
	}
	r.Status.Replication = nil
	if topology.IsRecorded(r.Status.Replication, "uid-a-0") {
		t.Error("nothing is recorded")
	}
}
