package fleet

import (
	"slices"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// A backup may ask a replica for a dump, and a master only if it has no replica, so that no client waits for a confirmation that a backup
// could forge.
func TestABackupsRightsFollowTheRole(t *testing.T) {
	for name, c := range map[string]struct {
		size   int32
		master bool
		dumps  bool
	}{
		"a master with replicas":    {size: 3, master: true},
		"a master without replicas": {size: 1, master: true, dumps: true},
		"a replica":                 {size: 3, dumps: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := New(&Operator{}, fixture.Sized(c.size), nil, nil)
			node := topology.Node{}
			node.Master = c.master
			if rights := f.backupRights(node); slices.Contains(rights, "+replconf") != c.dumps || slices.Contains(rights, "+psync|?") != c.dumps ||
				!slices.Contains(rights, "+info") {
				t.Errorf("%q", rights)
			}
			if admitted := len(f.dumpReaders()) > 0; admitted != (c.size == 1) {
				t.Errorf("a master of %d nodes gives dumps: %t", c.size, admitted)
			}
		})
	}
}
