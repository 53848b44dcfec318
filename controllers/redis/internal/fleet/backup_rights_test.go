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
			if c.member {
				f.Redis.Status.Replication.SyncSet = []cachev1alpha1.RedisProcess{{Name: "a-1"}}
			}
			node := topology.Node{}
			node.Master = c.master
			if rights := f.backupRights(node); slices.Contains(rights, "+replconf") != c.dumps || slices.Contains(rights, "+psync|?") != c.dumps ||
				!slices.Contains(rights, "+info") {
				t.Errorf("%q", rights)
			}
		})
	}
}

// The replicas were lost while the size was larger, so nothing is sent to the master when it is made smaller.
func TestAMasterThatIsAloneIsToGiveDumps(t *testing.T) {
	s, known, c := fixture.Healthy(1), knownOfNone(), fixture.Started("p", "")
	known.passwordReplies[s.Nodes[0].RunID] = passwordReply{digest: c.AcceptedDigest()}
	isUnknown := func(masterGivesDumps bool) bool {
		known.fillPasswords(&s.World, s.Status.Nodes, c, masterGivesDumps)
		return s.Nodes[0].PasswordsUnknown
	}
	if isUnknown(true) {
		t.Error("a master that gives dumps is sent its passwords again")
	}
	known.noteGivesNone(s.Nodes[0].RunID)
	if isUnknown(false) {
		t.Error("a master with replicas is sent its passwords again")
	}
	if !isUnknown(true) {
		t.Error("a master that is alone, and was made to refuse dumps, is not sent the right to give them")
	}
}
