package topology_test

import (
	"testing"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

func TestGoingToSleep(t *testing.T) {
	hibernating := func(c planRow) *Scene {
		s := WithVolumes(Healthy(c.size))
		s.Spec.Hibernate = true
		c.given(s)
		return s
	}
	fenced := func(s *Scene) { FencedAt(&s.Nodes[0], 100); s.Nodes[0].Master = false }
	testPlan(t, hibernating, []planRow{
		{"first the writes end", 3, func(*Scene) {}, Fence, []string{"a-0"}},
		{"the last writes are waited for before the mastership ends", 3, func(s *Scene) { fenced(s); s.Nodes[2].Offset = 99 }, Wait,
			[]string{"a-2"}},
		{"the mastership ends once the last writes have arrived", 3, fenced, EndMastership, []string{"a-0"}},
		{"one that does not hear the master is not waited for", 3, func(s *Scene) {
			fenced(s)
			s.Nodes[2].Offset, s.Nodes[2].LinkUp = 99, false
		}, EndMastership, []string{"a-0"}},
		{"one that does not answer neither", 3, func(s *Scene) { fenced(s); MakeSilent(&s.Nodes[2]) }, EndMastership, []string{"a-0"}},
		{"never before the master's volume says so", 3, func(s *Scene) { fenced(s); SetStamp(s, "a-0", 6, Synced) }, StampVolumes,
			[]string{"a-0"}},
		{"a lost master is replaced first", 3, func(s *Scene) { Refused(&s.Nodes[0]); LinksDown(s) }, Fence, []string{"a-1", "a-2"}},
		{"a pod that may not keep data as asked by now is replaced first", 3, Outdated(2), DeletePod, []string{"a-2"}},
		{"so is a way to keep data that servers have not come to yet", 3, func(s *Scene) { s.Nodes[2].AOF = false }, SetPersistence,
			[]string{"a-2"}},
		{"the servers' file is waited for until it keeps data as asked", 3, func(s *Scene) { s.Settings.Live[config.AppendOnly] = "no" }, Wait,
			nil},
		{"settings that a server may not have are applied first", 3, func(s *Scene) { s.Nodes[1].SettingsUnknown = true }, ApplySettings,
			[]string{"a-1"}},
		{"a master without a pod hands over first", 3, func(s *Scene) { Orphan(s) }, SwitchOver, []string{"a-1"}},
		{"a second master is fenced first", 3, func(s *Scene) { fenced(s); s.Nodes[1].Master = true }, Fence, []string{"a-1"}},
		{"who sleeps is left alone", 3, func(s *Scene) { s.Status.Replication = nil; SilentAll(s) }, Idle, nil},
	})
}

// A node beyond the size stays until nothing depends on it.
func TestPodsOutliveTheirSize(t *testing.T) {
	s := Healthy(2)
	s.Status.Replication = &cachev1alpha1.RedisReplication{Master: cachev1alpha1.RedisProcess{Name: "a-4"}}
	if got := s.Situation().DesiredPods(); got != 5 {
		t.Errorf("the master would be removed: %d pods", got)
	}
	s.Status.Replication.Master.Name = "a-0"
	s.Status.Replication.SyncSet = []cachev1alpha1.RedisProcess{{Name: "a-3"}}
	if got := s.Situation().DesiredPods(); got != 4 {
		t.Errorf("a member of the sync set would be removed: %d pods", got)
	}
	s.Status.Replication.SyncSet = nil
	if got := s.Situation().DesiredPods(); got != 2 {
		t.Errorf("want the size, got %d", got)
	}
}
