package topology_test

import (
	"slices"
	"testing"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

func TestGoingToSleep(t *testing.T) {
	fenced := func(s *Scene) { FencedAt(&s.Nodes[0], 100); s.Nodes[0].Master = false }
	for _, c := range []struct {
		reason string
		given  func(*Scene)
		do     Verb
		nodes  []string
	}{
		{"first the writes end", func(*Scene) {}, Fence, []string{"a-0"}},
		{"then the last of them arrive", func(s *Scene) { fenced(s); s.Nodes[2].Offset = 99 }, Wait, []string{"a-2"}},
		{"then nobody is master", fenced, EndMastership, []string{"a-0"}},
		{"one that does not hear the master is not waited for", func(s *Scene) {
			fenced(s)
			s.Nodes[2].Offset, s.Nodes[2].LinkUp = 99, false
		}, EndMastership, []string{"a-0"}},
		{"one that does not answer neither", func(s *Scene) { fenced(s); MakeSilent(&s.Nodes[2]) }, EndMastership, []string{"a-0"}},
		{"never before the master's volume says so", func(s *Scene) { fenced(s); SetStamp(s, "a-0", 6, Synced) }, StampVolumes, []string{"a-0"}},
		{"a lost master is replaced first", func(s *Scene) { Refused(&s.Nodes[0]); LinksDown(s) }, Fence, []string{"a-1", "a-2"}},
		{"a pod that may not keep data as asked by now is replaced first", Outdated(2), DeletePod, []string{"a-2"}},
		{"so is a way to keep data that servers have not come to yet", func(s *Scene) { s.Nodes[2].AOF = false }, SetPersistence, []string{"a-2"}},
		{"or that they would not start with", func(s *Scene) { s.Settings.Live[config.AppendOnly] = "no" }, Wait, nil},
		{"or were not told", func(s *Scene) { s.Nodes[1].SettingsUnknown = true }, ApplySettings, []string{"a-1"}},
		{"a master without a pod hands over first", func(s *Scene) { Orphan(s) }, SwitchOver, []string{"a-1"}},
		{"a second master is fenced first", func(s *Scene) { fenced(s); s.Nodes[1].Master = true }, Fence, []string{"a-1"}},
		{"who sleeps is left alone", func(s *Scene) { s.Status.Replication = nil; SilentAll(s) }, Idle, nil},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := WithVolumes(Healthy(3))
			s.Spec.Hibernate = true
			c.given(s)
			if got := s.Situation().Plan(); got.Do != c.do || !slices.Equal(got.NodeNames, c.nodes) {
				t.Errorf("got %s (%s), want %s %v", got, got.Message, c.do, c.nodes)
			}
		})
	}
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
