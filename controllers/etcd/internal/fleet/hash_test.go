package fleet

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// hashServer is a member with data to compare.
type hashServer struct {
	server
	name    string
	hash    membership.DataHash
	answers bool // in time
	asked   *[]string
}

func (h *hashServer) HashData(context.Context) (membership.DataHash, error) {
	*h.asked = append(*h.asked, h.name)
	if !h.answers {
		return membership.DataHash{}, errors.New("the time is over")
	}
	return h.hash, nil
}

// comparison plays passes over three members with the alarm that their data differs.
type comparison struct {
	memory  Memory
	servers []*hashServer
	asked   []string
	alarms  []membership.Alarm
	offset  uint64 // of the members' IDs
}

func newComparison() *comparison {
	c := &comparison{alarms: []membership.Alarm{{Type: membership.AlarmCorrupt}}}
	for i, name := range []string{"a-0", "a-1", "a-2"} {
		c.servers = append(c.servers, &hashServer{name: name, answers: true, asked: &c.asked,
			hash: membership.DataHash{Revision: 7, CompactRevision: 3, Hash: uint32(i + 1)}}) //nolint:gosec // at most 3
	}
	return c
}

// pass returns which members it asked, and what each is known to hash to.
func (c *comparison) pass(t *testing.T) (asked []string, hashes []uint32) {
	t.Helper()
	f := &Fleet{Memory: &c.memory, servers: map[string]server{}, World: membership.World{Listed: true, Alarms: c.alarms}}
	for i, s := range c.servers {
		f.servers[s.name] = s
		listed := &membership.ListedMember{ID: c.offset + uint64(i) + 1} //nolint:gosec // as above
		f.Members = append(f.Members, membership.Member{Name: s.name, Listed: listed,
			View: membership.View{Answered: true, Revision: s.hash.Revision}})
	}
	c.asked = nil
	f.hashData(t.Context())
	for _, m := range f.Members {
		hashes = append(hashes, m.View.Data.Hash)
	}
	return c.asked, hashes
}

// expect fails the test if the next pass asks or knows something else.
func (c *comparison) expect(t *testing.T, when string, asks []string, knows ...uint32) {
	t.Helper()
	if asked, hashes := c.pass(t); !slices.Equal(asked, asks) || !slices.Equal(hashes, knows) {
		t.Errorf("%s: it asks %v and knows %v, want %v and %v", when, asked, hashes, asks, knows)
	}
}

// Data that takes long to read is compared all the same: each pass asks one member, and the others keep their hashes.
func TestOneMemberIsHashedInAPass(t *testing.T) {
	c := newComparison()
	c.expect(t, "first", []string{"a-0"}, 0, 0, 0)
	c.expect(t, "second", []string{"a-1"}, 1, 0, 0)
	c.expect(t, "third", []string{"a-2"}, 1, 2, 0)
	c.expect(t, "all are known", nil, 1, 2, 3)
}

func TestAMemberThatIsNotHashedInTimeHoldsUpNoOther(t *testing.T) {
	c := newComparison()
	c.servers[0].answers = false
	c.expect(t, "a-0 fails", []string{"a-0"}, 0, 0, 0)
	c.expect(t, "the next has its turn", []string{"a-1"}, 0, 0, 0)
	c.expect(t, "and the last", []string{"a-2"}, 0, 2, 0)
	c.servers[0].answers = true
	c.expect(t, "a-0 is asked again", []string{"a-0"}, 0, 2, 3)
	c.expect(t, "all are known", nil, 1, 2, 3)
}

func TestAHashCountsWhileItIsOfThePresentData(t *testing.T) {
	all := func() *comparison {
		c := newComparison()
		for range c.servers {
			c.pass(t)
		}
		return c
	}
	c := all()
	c.servers[1].hash.Revision = 8
	c.expect(t, "a member has another revision", []string{"a-1"}, 1, 0, 3)
	c = all()
	c.offset = 10
	c.expect(t, "other members have the names", []string{"a-0"}, 0, 0, 0)
	c = all()
	alarms := c.alarms
	c.alarms = nil
	c.expect(t, "the alarm is taken back", nil, 0, 0, 0)
	c.alarms = alarms
	c.expect(t, "the alarm is raised again", []string{"a-0"}, 0, 0, 0)
}
