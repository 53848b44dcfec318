package topology_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// The set had three nodes and has two. The volume of a-2 is left.
func TestVolumesThatNoNodeNeeds(t *testing.T) {
	for _, c := range []struct {
		name    string
		arrange func(*fixture.Scene)
		want    bool
	}{
		{"the node has left in good order", func(*fixture.Scene) {}, true},
		{"it was never stamped", func(s *fixture.Scene) { fixture.SetStamp(s, "a-2", 0, topology.Behind) }, true},
		{"it led under an earlier epoch", func(s *fixture.Scene) { fixture.SetStamp(s, "a-2", 6, topology.Leading) }, true},
		{"it followed this master, which holds nothing now", func(s *fixture.Scene) { s.Nodes[0].Keys = 0 }, true},
		{"its pod is still there", func(s *fixture.Scene) { s.Nodes = append(s.Nodes, fixture.Running(2)) }, false},
		{"the size asks for it again", func(s *fixture.Scene) { *s.Spec.Size = 3 }, false},
		{"it is in the recorded sync set", func(s *fixture.Scene) {
			s.Status.Replication.SyncSet = append(s.Status.Replication.SyncSet, cachev1alpha1.RedisProcess{Name: "a-2"})
		}, false},
		{"it is the recorded master", func(s *fixture.Scene) { s.Status.Replication.Master.Name = "a-2" }, false},
		{"a node beyond it is recorded", func(s *fixture.Scene) {
			s.Status.Replication.SyncSet = append(s.Status.Replication.SyncSet, cachev1alpha1.RedisProcess{Name: "a-3"})
		}, false},
		{"the set is to hibernate, once something else is done", func(s *fixture.Scene) {
			s.Spec.Hibernate, s.Ghost = true, &topology.Node{Name: "a-9"}
		}, false},
		{"no master is recorded", func(s *fixture.Scene) { s.Status.Replication = nil }, false},
		{"the master is dead", func(s *fixture.Scene) { fixture.Refused(&s.Nodes[0]) }, false},
		{"the master is silent", func(s *fixture.Scene) { fixture.MakeSilent(&s.Nodes[0]) }, false},
		{"the master loads its data", func(s *fixture.Scene) { s.Nodes[0].Loading = true }, false},
		{"a replica is not in sync", func(s *fixture.Scene) { s.Nodes[1].LinkUp = false }, false},
		{"the volume of a replica is being deleted", func(s *fixture.Scene) {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{}}}
			claim.DeletionTimestamp.Time = fixture.MicroNow.Time
			s.Volumes["a-1"] = topology.Volume{Stamp: s.Volumes["a-1"].Stamp, Claim: claim}
		}, false},
		{"a replica has no volume", func(s *fixture.Scene) { delete(s.Volumes, "a-1") }, false},
		{"a replica has no pod", func(s *fixture.Scene) { s.Nodes = s.Nodes[:1] }, false},
		{"a promotion is under way", func(s *fixture.Scene) { s.Status.Epoch, s.Status.TargetMaster = 8, "a-1" }, false},
		{"a server writes a snapshot", func(s *fixture.Scene) { s.Nodes[0].Saving = true }, false},
		{"a server writes its first append-only file", func(s *fixture.Scene) { s.Nodes[0].Rewriting = true }, false},
		{"a write to disk has failed", func(s *fixture.Scene) { s.Nodes[0].Rewritten = false }, false},
		{"the last failover was forced", func(s *fixture.Scene) {
			s.Status.LastFailover = &cachev1alpha1.RedisFailover{Unsafe: true}
		}, false},
		{"its volume is stamped as in sync", func(s *fixture.Scene) { fixture.SetStamp(s, "a-2", 7, topology.Synced) }, false},
		{"its volume is of a later epoch", func(s *fixture.Scene) { fixture.SetStamp(s, "a-2", 9, topology.Behind) }, false},
		{"it led before, and the present master holds nothing", func(s *fixture.Scene) {
			fixture.SetStamp(s, "a-2", 6, topology.Leading)
			s.Nodes[0].Keys = 0
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fixture.WithVolumes(fixture.Healthy(2))
			fixture.SetStamp(s, "a-2", 7, topology.Behind)
			c.arrange(s)
			if got := s.Situation().IsVolumeUnneeded("a-2"); got != c.want {
				t.Errorf("unneeded: %t, the plan: %s", got, s.Situation().Plan())
			}
		})
	}
}
