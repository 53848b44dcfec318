package topology_test

import (
	"testing"
	"time"

	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// unconfirm makes servers ones whose addresses the API server did not confirm in time. They may have been silent for an hour.
func unconfirm(nodes ...*Node) {
	for _, m := range nodes {
		m.View, m.SilentFor = wire.View{Answer: wire.Unconfirmed}, time.Hour
	}
}

// A server that was not asked is neither alive nor dead.
func TestUnconfirmed(t *testing.T) {
	testPlan(t, healthy, []planRow{
		{"a master that was not asked stays", 3, func(s *Scene) { unconfirm(&s.Nodes[0]) }, Wait, nil},
		{"a master that was not asked stays, though no replica hears it", 3, func(s *Scene) {
			hang(&s.Nodes[0], s, time.Hour)
			unconfirm(&s.Nodes[0])
		}, Wait, nil},
		{"a master that was not asked stays when its replicas are fenced", 3, func(s *Scene) {
			unconfirm(&s.Nodes[0])
			FenceReplicas(s, 90, 95)
			s.FencedFor = time.Hour
		}, Wait, nil},
		{"once it is asked and silent, the others are fenced at once", 3, func(s *Scene) { hang(&s.Nodes[0], s, time.Hour) }, Fence,
			[]string{"a-1", "a-2"}},
		{"a master that refuses is replaced once enough replicas were asked to be sure", 3, func(s *Scene) {
			Refused(&s.Nodes[0])
			FenceReplicas(s, 90, 95)
			unconfirm(&s.Nodes[1])
		}, Wait, nil},
		{"a master whose container has ended is replaced although its address was not confirmed", 3, func(s *Scene) {
			unconfirm(&s.Nodes[0])
			s.Nodes[0].Stopped = true
			FenceReplicas(s, 90, 95)
		}, Promote, []string{"a-2"}},
		{"an operator that was not answered for any server does not say that it reaches none", 3,
			func(s *Scene) { unconfirm(&s.Nodes[0], &s.Nodes[1], &s.Nodes[2]) }, Wait, nil},
		{"a replica that was not asked keeps its pod", 3, func(s *Scene) { unconfirm(&s.Nodes[2]) }, Wait, nil},
		{"without a record a server that was not asked may be the master", 3, func(s *Scene) {
			s.Status.Replication = nil
			RestartAll(s)
			unconfirm(&s.Nodes[1])
		}, Wait, nil},
	})
}
