package status

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

func TestSettingsInSync(t *testing.T) {
	for _, c := range []struct {
		reason string
		given  func(*fixture.Scene)
		says   string // "reason: words of the message"
		ready  bool
	}{
		{"all is in step", func(*fixture.Scene) {}, "SettingsApplied: every server", true},
		{"not known yet what a process was sent", func(s *fixture.Scene) { s.Nodes[1].SettingsUnknown = true }, "SettingsApplied", true},
		{"on its way", func(s *fixture.Scene) { s.Spec.Config = fixture.OneDirective("hz", "20") }, "ApplyingSettings: config.hz:", false},
		{"persistence is", func(s *fixture.Scene) { s.Settings.Live[config.AppendOnly] = "no" }, "ApplyingSettings: persistence:", false},
		{"waiting for pods", func(s *fixture.Scene) {
			s.Spec.Config = fixture.OneDirective("databases", "5")
			s.Nodes[1].RestartSettings = config.Resolve(s.Redis).RestartSettings(s.Settings)
		}, "RollingOut: config.databases: until their pods are recreated, a-0, a-2", false},
		{"refused", func(s *fixture.Scene) {
			s.Spec.Config = fixture.OneDirective("hz", "abc")
			s.Nodes[1].RefusedSettings = map[string]string{"hz": "ERR no integer"}
		}, `InvalidSpec: config.hz: the servers refuse hz "abc": ERR no integer; the value before`, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := fixture.WithVolumes(fixture.Healthy(3))
			c.given(s)
			set := &appsv1.StatefulSet{}
			set.Generation, set.Status.ObservedGeneration, set.Status.Replicas = 2, 2, 3
			list := New(s.Redis, Inputs{Situation: s.Situation(), Next: topology.Step{Do: topology.Idle}, Set: set}).Conditions
			got := meta.FindStatusCondition(list, commonv1.ConditionSettingsInSync)
			if got == nil || !strings.HasPrefix(got.Reason+": "+got.Message, c.says) || (got.Status == "True") != c.ready {
				t.Errorf("%+v, want %s", got, c.says)
			}
			degraded := meta.IsStatusConditionTrue(list, commonv1.ConditionDegraded)
			if refused := strings.HasPrefix(c.says, commonv1.ReasonInvalidSpec); degraded != refused {
				t.Errorf("degraded: %t", degraded)
			}
		})
	}
}
