package fleet

import (
	"testing"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
)

// What an earlier operator knew of a process is known by the status alone: a process that the status does not have is new.
func TestWhichProcessesAnEarlierOperatorKnew(t *testing.T) {
	s, known := fixture.Healthy(3), knownOfNone()
	s.Status.Nodes = []cachev1alpha1.RedisNode{{Name: "a-0", RunID: s.Nodes[0].RunID}, {Name: "a-1", RunID: "former"}, {Name: "a-2"}}
	c := fixture.Started("p", "")
	unsent := func() (list [3]bool) {
		known.fillPasswords(&s.World, s.Status.Nodes, c, false)
		for i, node := range s.Nodes {
			list[i] = node.PasswordsUnsent
		}
		return list
	}
	if got := unsent(); got != [3]bool{true, false, false} {
		t.Errorf("got %v", got)
	}
	known.passwordReplies[s.Nodes[0].RunID] = passwordReply{digest: "of others"}
	if got := unsent(); got != [3]bool{} {
		t.Errorf("sent others, and got %v", got)
	}
}
