package topology_test

import (
	"testing"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

func TestSettingsPlan(t *testing.T) {
	withVolumes := func(c planRow) *Scene {
		s := WithVolumes(Healthy(c.size))
		c.given(s)
		return s
	}
	to := func(mode cachev1alpha1.RedisPersistenceMode) func(*Scene) {
		return func(s *Scene) { s.Spec.Persistence = &cachev1alpha1.RedisPersistence{Mode: mode} }
	}
	untuned := func(nodes ...int) func(*Scene) {
		return func(s *Scene) {
			for _, n := range nodes {
				s.Nodes[n].SettingsUnknown = true
			}
		}
	}
	appends := func(s *Scene, yes bool, nodes ...int) {
		for _, n := range nodes {
			s.Nodes[n].AOF = yes
		}
	}
	testPlan(t, withVolumes, []planRow{
		{"all is in step", 3, func(*Scene) {}, Idle, nil},
		{"servers that may run with others are sent them, the master last", 3, untuned(0, 1, 2), ApplySettings, []string{"a-1", "a-2", "a-0"}},
		{"not while it loads", 3, func(s *Scene) { untuned(1)(s); s.Nodes[1].Loading = true }, Wait, nil},
		{"before anything is rolled", 3, func(s *Scene) { Outdated(0, 1, 2)(s); untuned(1)(s) }, ApplySettings, []string{"a-1"}},
		{"never before the master's end is dealt with", 3, func(s *Scene) { Refused(&s.Nodes[0]); LinksDown(s); untuned(1)(s) }, Fence,
			[]string{"a-1", "a-2"}},
		{"servers change how they persist, the master last", 3, to("RDB"), SetPersistence, []string{"a-1", "a-2", "a-0"}},
		{"those that have not", 3, func(s *Scene) { to("RDB")(s); appends(s, false, 0, 2) }, SetPersistence, []string{"a-1"}},
		{"their file follows when all have", 3, func(s *Scene) { to("RDB")(s); appends(s, false, 0, 1, 2) }, Wait, nil},
		{"snapshots next to it are a setting like any other", 3, to("Both"), Idle, nil},
		{"a server that started from an old file is sent it again", 3, func(s *Scene) { appends(s, false, 2) }, SetPersistence, []string{"a-2"}},
		{"an outdated node that has its data elsewhere first", 3, func(s *Scene) { Outdated(2)(s); appends(s, false, 2) }, SetPersistence,
			[]string{"a-2"}},
		{"an outdated node that is writing its data is waited for", 3, func(s *Scene) { Outdated(2)(s); s.Nodes[2].Rewriting = true }, Wait, nil},
		{"an outdated node that has written its data is replaced", 3, Outdated(2), DeletePod, []string{"a-2"}},
	})
}

func TestTheFileFollowsTheServers(t *testing.T) {
	for _, c := range []struct {
		reason      string
		given       func(*Scene)
		name, value string
		resets      int
	}{
		{"what all took", func(*Scene) {}, "hz", "20", 0},
		{"not before all that answer were sent it", func(s *Scene) { s.Nodes[1].SettingsUnknown = true }, "hz", "10", 0},
		{"a server that does not answer is sent it when it does", func(s *Scene) { MakeSilent(&s.Nodes[1]) }, "hz", "20", 0},
		{"no one answers", func(s *Scene) { SilentAll(s) }, "hz", "10", 0},
		{"what one refuses is left as it was", func(s *Scene) { s.Nodes[1].RefusedSettings = map[string]string{"hz": "ERR"} }, "hz", "10", 0},
		{"what was taken out is in no file", func(s *Scene) { s.Spec.Config = nil }, "hz", "", 1},
		{"what was never in it takes no roll", func(s *Scene) { delete(s.Settings.Live, "hz"); s.Spec.Config = nil }, "hz", "", 0},
		{"a file that lacks writes is not started from", func(s *Scene) { s.Settings.Live[config.AppendOnly], s.Nodes[1].Rewriting = "no", true },
			config.AppendOnly, "no", 0},
		{"a file that was not written is not started from",
			func(s *Scene) { s.Settings.Live[config.AppendOnly], s.Nodes[1].Rewritten = "no", false },
			config.AppendOnly, "no", 0},
		{"the file does not ask for appending while a node is missing",
			func(s *Scene) { s.Settings.Live[config.AppendOnly] = "no"; MakeSilent(&s.Nodes[1]) }, config.AppendOnly,
			"no", 0},
		{"the file asks for appending once all nodes append", func(s *Scene) { s.Settings.Live[config.AppendOnly] = "no" }, config.AppendOnly,
			"yes", 0},
		{"the file asks for no appending once no node appends", func(s *Scene) {
			s.Spec.Persistence = &cachev1alpha1.RedisPersistence{Mode: cachev1alpha1.RedisPersistRDB}
			for i := range s.Nodes {
				s.Nodes[i].AOF = false
			}
		}, config.AppendOnly, "no", 0},
		{"one that still appends is another matter", func(s *Scene) {
			s.Spec.Persistence = &cachev1alpha1.RedisPersistence{Mode: cachev1alpha1.RedisPersistRDB}
			s.Nodes[1].AOF = false
		}, config.AppendOnly, "yes", 0},
		{"before the first start it is the spec's", func(s *Scene) {
			SilentAll(s)
			s.Status.Epoch, s.Settings.Live[config.AppendOnly] = 0, "no"
		}, config.AppendOnly, "yes", 0},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := WithVolumes(Healthy(3))
			s.Spec.Config = map[string]cachev1alpha1.RedisConfigValue{"hz": "20"}
			s.Settings.Live["hz"] = "10"
			c.given(s)
			before := s.Settings.Text()
			got := s.Situation().NextSettings()
			if got.Live[c.name] != c.value || got.Resets["hz"] != c.resets || s.Settings.Text() != before {
				t.Errorf("%s, want %s %q", got.Text(), c.name, c.value)
			}
			if again := config.SettingsIn(map[string][]byte{config.SettingsKey: []byte(got.Text())}); again.Text() != got.Text() {
				t.Errorf("read back as %s", again.Text())
			}
		})
	}
}
