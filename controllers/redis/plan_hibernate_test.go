package redis

import (
	"slices"
	"testing"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
)

func TestGoingToSleep(t *testing.T) {
	fenced := func(s *scene) { frozen(&s.members[0], 100); s.members[0].Master = false }
	for _, c := range []struct {
		reason string
		given  func(*scene)
		do     verb
		nodes  []string
	}{
		{"first the writes end", func(*scene) {}, fence, []string{"a-0"}},
		{"then the last of them arrive", func(s *scene) { fenced(s); s.members[2].Offset = 99 }, wait, []string{"a-2"}},
		{"then nobody is master", fenced, endMastership, []string{"a-0"}},
		{"one that does not hear the master is not waited for", func(s *scene) {
			fenced(s)
			s.members[2].Offset, s.members[2].LinkUp = 99, false
		}, endMastership, []string{"a-0"}},
		{"one that does not answer neither", func(s *scene) { fenced(s); makeSilent(&s.members[2]) }, endMastership, []string{"a-0"}},
		{"never before the master's volume says so", func(s *scene) { fenced(s); setStamp(s, "a-0", 6, synced) }, stampVolumes, []string{"a-0"}},
		{"a lost master is replaced first", func(s *scene) { refused(&s.members[0]); linksDown(s) }, fence, []string{"a-1", "a-2"}},
		{"a pod that may not keep data as asked by now is replaced first", outdated(2), deletePod, []string{"a-2"}},
		{"so is a way to keep data that servers have not come to yet", func(s *scene) { s.members[2].AOF = false }, setPersistence, []string{"a-2"}},
		{"or that they would not start with", func(s *scene) { s.settings.Live[appendOnly] = "no" }, wait, nil},
		{"or were not told", func(s *scene) { s.members[1].settingsUnknown = true }, applySettings, []string{"a-1"}},
		{"a master without a pod hands over first", func(s *scene) { orphan(s) }, switchOver, []string{"a-1"}},
		{"a second master is fenced first", func(s *scene) { fenced(s); s.members[1].Master = true }, fence, []string{"a-1"}},
		{"who sleeps is left alone", func(s *scene) { s.Status.Replication = nil; silentAll(s) }, idle, nil},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := withVolumes(healthy(3))
			s.Spec.Hibernate = true
			c.given(s)
			if got := s.situation().plan(); got.do != c.do || !slices.Equal(got.nodes, c.nodes) {
				t.Errorf("got %s (%s), want %s %v", got, got.message, c.do, c.nodes)
			}
		})
	}
}

// A node beyond the size stays until nothing depends on it.
func TestPodsOutliveTheirSize(t *testing.T) {
	s := healthy(2)
	s.Status.Replication = &cachev1alpha1.RedisReplication{Master: cachev1alpha1.RedisProcess{Name: "a-4"}}
	if got := s.situation().desiredPods(); got != 5 {
		t.Errorf("the master would be removed: %d pods", got)
	}
	s.Status.Replication.Master.Name = "a-0"
	s.Status.Replication.SyncSet = []cachev1alpha1.RedisProcess{{Name: "a-3"}}
	if got := s.situation().desiredPods(); got != 4 {
		t.Errorf("a member of the sync set would be removed: %d pods", got)
	}
	s.Status.Replication.SyncSet = nil
	if got := s.situation().desiredPods(); got != 2 {
		t.Errorf("want the size, got %d", got)
	}
}
