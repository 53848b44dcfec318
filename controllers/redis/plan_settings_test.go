package redis

import (
	"slices"
	"testing"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
)

func TestSettingsPlan(t *testing.T) {
	to := func(mode cachev1alpha1.RedisPersistenceMode) func(*scene) {
		return func(s *scene) { s.Spec.Persistence = &cachev1alpha1.RedisPersistence{Mode: mode} }
	}
	untuned := func(nodes ...int) func(*scene) {
		return func(s *scene) {
			for _, n := range nodes {
				s.members[n].settingsUnknown = true
			}
		}
	}
	appends := func(s *scene, yes bool, nodes ...int) {
		for _, n := range nodes {
			s.members[n].AOF = yes
		}
	}
	for _, c := range []struct {
		reason string
		given  func(*scene)
		do     verb
		nodes  []string
	}{
		{"all is in step", func(*scene) {}, idle, nil},
		{"whoever may run with others is told, the master last", untuned(0, 1, 2), applySettings, []string{"a-1", "a-2", "a-0"}},
		{"not while it loads", func(s *scene) { untuned(1)(s); s.members[1].Loading = true }, wait, nil},
		{"before anything is rolled", func(s *scene) { outdated(0, 1, 2)(s); untuned(1)(s) }, applySettings, []string{"a-1"}},
		{"never before the master's end is dealt with", func(s *scene) { refused(&s.members[0]); linksDown(s); untuned(1)(s) }, fence, []string{"a-1", "a-2"}},
		{"servers change how they persist, the master last", to("RDB"), setPersistence, []string{"a-1", "a-2", "a-0"}},
		{"those that have not", func(s *scene) { to("RDB")(s); appends(s, false, 0, 2) }, setPersistence, []string{"a-1"}},
		{"their file follows when all have", func(s *scene) { to("RDB")(s); appends(s, false, 0, 1, 2) }, wait, nil},
		{"snapshots beside it are a setting like any other", to("Both"), idle, nil},
		{"who started from an older file is told again", func(s *scene) { appends(s, false, 2) }, setPersistence, []string{"a-2"}},
		{"an outdated node that has its data elsewhere first", func(s *scene) { outdated(2)(s); appends(s, false, 2) }, setPersistence, []string{"a-2"}},
		{"or is writing it", func(s *scene) { outdated(2)(s); s.members[2].Rewriting = true }, wait, nil},
		{"then it is replaced", outdated(2), deletePod, []string{"a-2"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := withVolumes(healthy(3))
			c.given(s)
			if got := s.situation().plan(); got.do != c.do || !slices.Equal(got.nodes, c.nodes) || c.do == wait && got.requeueAfter == 0 {
				t.Errorf("got %s (%s), want %s %v", got, got.message, c.do, c.nodes)
			}
		})
	}
}

func TestTheFileFollowsTheServers(t *testing.T) {
	for _, c := range []struct {
		reason      string
		given       func(*scene)
		name, value string
		resets      int
	}{
		{"what all took", func(*scene) {}, "hz", "20", 0},
		{"not before all that answer were told", func(s *scene) { s.members[1].settingsUnknown = true }, "hz", "10", 0},
		{"who does not answer is told when it does", func(s *scene) { makeSilent(&s.members[1]) }, "hz", "20", 0},
		{"nobody answers", func(s *scene) { silentAll(s) }, "hz", "10", 0},
		{"what one refuses is left as it was", func(s *scene) { s.members[1].refusedSettings = map[string]string{"hz": "ERR"} }, "hz", "10", 0},
		{"what was taken out is in no file", func(s *scene) { s.Spec.Config = nil }, "hz", "", 1},
		{"what was never in it takes no roll", func(s *scene) { delete(s.settings.Live, "hz"); s.Spec.Config = nil }, "hz", "", 0},
		{"a file that lacks writes is not started from", func(s *scene) { s.settings.Live[appendOnly], s.members[1].Rewriting = "no", true }, appendOnly, "no", 0},
		{"nor one that was not written", func(s *scene) { s.settings.Live[appendOnly], s.members[1].Rewritten = "no", false }, appendOnly, "no", 0},
		{"nor while a node is missing", func(s *scene) { s.settings.Live[appendOnly] = "no"; makeSilent(&s.members[1]) }, appendOnly, "no", 0},
		{"but once all have it", func(s *scene) { s.settings.Live[appendOnly] = "no" }, appendOnly, "yes", 0},
		{"or none has", func(s *scene) {
			s.Spec.Persistence = &cachev1alpha1.RedisPersistence{Mode: cachev1alpha1.RedisPersistRDB}
			for i := range s.members {
				s.members[i].AOF = false
			}
		}, appendOnly, "no", 0},
		{"one that still appends is another matter", func(s *scene) {
			s.Spec.Persistence = &cachev1alpha1.RedisPersistence{Mode: cachev1alpha1.RedisPersistRDB}
			s.members[1].AOF = false
		}, appendOnly, "yes", 0},
		{"before the first start it is the spec's", func(s *scene) {
			silentAll(s)
			s.Status.Epoch, s.settings.Live[appendOnly] = 0, "no"
		}, appendOnly, "yes", 0},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := withVolumes(healthy(3))
			s.Spec.Config = map[string]cachev1alpha1.RedisConfigValue{"hz": "20"}
			s.settings.Live["hz"] = "10"
			c.given(s)
			before := s.settings.text()
			got := s.situation().nextSettings()
			if got.Live[c.name] != c.value || got.Resets["hz"] != c.resets || s.settings.text() != before {
				t.Errorf("%s, want %s %q", got.text(), c.name, c.value)
			}
			if again := settingsIn(map[string][]byte{settingsKey: []byte(got.text())}); again.text() != got.text() {
				t.Errorf("read back as %s", again.text())
			}
		})
	}
}
