package topology_test

import (
	"testing"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// A mistake in the spec stops a rollout at the first pod, and a correction must end that.
func TestACorrectedSpecReachesEveryPod(t *testing.T) {
	// replaced gives nodes new pods of an outdated template, which the record does not name.
	replaced := func(s *Scene, nodes ...int) {
		for _, n := range nodes {
			m := &s.Nodes[n]
			m.PodUID, m.Outdated, m.NotStarted = "another-"+m.PodUID, true, true
			MakeSilent(m)
		}
	}
	notFormed := func(s *Scene) {
		for n := range s.Nodes {
			replaced(s, n)
		}
		s.Status = cachev1alpha1.RedisStatus{}
	}
	testPlan(t, healthy, []planRow{
		{"a replica that never started leaves the sync set first", 3, func(s *Scene) { replaced(s, 2); Detach(s, 2) }, RemoveMembers,
			[]string{"a-2"}},
		{"a pod that never started and has left the sync set is replaced", 3,
			func(s *Scene) { replaced(s, 2); Detach(s, 2); ForgetMember(s, "a-2") }, DeletePod, []string{"a-2"}},
		{"also while another is away", 3, func(s *Scene) {
			replaced(s, 2)
			Detach(s, 2)
			ForgetMember(s, "a-2")
			s.Nodes[1].LinkUp = false
		}, DeletePod, []string{"a-2"}},
		{"also when it ended, or another server than Redis runs in it", 3, func(s *Scene) {
			replaced(s, 1, 2)
			s.Nodes[1].NotStarted, s.Nodes[1].Stopped = false, true
			Refused(&s.Nodes[2])
			s.Nodes[2].NotStarted = false
			s.Status.Replication.SyncSet = nil
		}, DeletePod, []string{"a-2"}},
		{"not when its pod is of the latest template", 3, func(s *Scene) {
			replaced(s, 2)
			ForgetMember(s, "a-2")
			s.Nodes[2].Outdated = false
		}, Wait, nil},
		{"not again while it goes", 3, func(s *Scene) { replaced(s, 2); ForgetMember(s, "a-2"); s.Nodes[2].Deleting = true }, Wait, nil},
		{"not when it may run and cannot be asked", 3, func(s *Scene) {
			replaced(s, 2)
			ForgetMember(s, "a-2")
			s.Nodes[2].NotStarted = false
		}, Wait, nil},
		{"not when it is recorded: its container may start again with what it has", 3,
			func(s *Scene) {
				RestartAll(s)
				Outdated(1)(s)
				MakeSilent(&s.Nodes[1])
				s.Nodes[1].Stopped = true
				s.Nodes[2].Loading = true
			},
			Wait, nil},
		{"the only node, whose pod was replaced", 1, func(s *Scene) { replaced(s, 0) }, DeletePod, []string{"a-0"}},
		{"all, before there was a master", 3, notFormed, DeletePod, []string{"a-2"}},
		{"before there was a master, also when they do not answer for long", 3, func(s *Scene) {
			notFormed(s)
			for i := range s.Nodes {
				s.Nodes[i].SilentFor = UnreachableLimit
			}
		}, DeletePod, []string{"a-2"}},
		{"not one that may have been promoted a moment ago", 1, func(s *Scene) {
			notFormed(s)
			s.Nodes[0].NotStarted, s.Nodes[0].Stopped = false, true
			s.Status.TargetMaster, s.Status.Epoch = "a-0", 1
		}, Wait, nil},
		{"never before the master's end is dealt with", 3, func(s *Scene) {
			replaced(s, 2)
			ForgetMember(s, "a-2")
			Refused(&s.Nodes[0])
			LinksDown(s)
		}, Fence, []string{"a-1"}},

		{"a replica that runs and never comes to be in sync is replaced before the others", 3,
			func(s *Scene) { Outdated(1, 2)(s); s.Nodes[1].LinkUp = false }, DeletePod, []string{"a-1"}},
		{"a replica that runs and never comes to be in sync is not replaced while another is away", 3,
			func(s *Scene) { Outdated(1)(s); s.Nodes[1].LinkUp, s.Nodes[2].LinkUp = false, false }, Wait, nil},
		{"a replica that writes its data to disk is not replaced", 3,
			func(s *Scene) { Outdated(1)(s); s.Nodes[1].LinkUp, s.Nodes[1].Rewriting = false, true }, Wait, nil},
	})
}
