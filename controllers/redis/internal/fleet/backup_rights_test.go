package fleet

import (
	"slices"
	"testing"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// A backup may ask a replica for a dump, and a master only if it has no replica, so that no client waits for a confirmation that a backup
// could forge.
func TestABackupsRightsFollowTheRole(t *testing.T) {
	for name, c := range map[string]struct {
		size   int32
		master bool
		member bool
		dumps  bool
	}{
		"a master whose last replica is to leave": {size: 1, master: true, member: true},
		"a master with replicas":                  {size: 3, master: true},
		"a master without replicas":               {size: 1, master: true, dumps: true},
		"a replica":                               {size: 3, dumps: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := New(&Operator{}, fixture.Sized(c.size), nil, nil)
			f.Redis.Status.Replication = &cachev1alpha1.RedisReplication{}
			var set []cachev1alpha1.RedisProcess
			if c.member {
				set = []cachev1alpha1.RedisProcess{{Name: "a-1"}}
			}
			f.Redis.Status.Replication.SyncSet = set
			node := topology.Node{}
			node.Master = c.master
			if rights := f.backupRights(node); slices.Contains(rights, "+replconf") != c.dumps || slices.Contains(rights, "+psync|?") != c.dumps ||
				!slices.Contains(rights, "+info") {
				t.Errorf("%q", rights)
			}
			if admitted := len(f.dumpReaders(set...)) > 0; admitted != (c.size == 1 && !c.member) {
				t.Errorf("a master of %d nodes gives dumps: %t", c.size, admitted)
			}
		})
	}
}
