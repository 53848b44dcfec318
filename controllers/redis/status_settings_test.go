package redis

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	appsv1 "k8s.io/api/apps/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

func TestSettingsInSync(t *testing.T) {
	for _, c := range []struct {
		reason string
		given  func(*scene)
		says   string // "reason: words of the message"
		ready  bool
	}{
		{"all is in step", func(*scene) {}, "SettingsApplied: every server", true},
		{"not known yet what a process was told", func(s *scene) { s.members[1].settingsUnknown = true }, "SettingsApplied", true},
		{"on its way", func(s *scene) { s.Spec.Config = oneDirective("hz", "20") }, "ApplyingSettings: config.hz:", false},
		{"persistence is", func(s *scene) { s.settings.Live[appendOnly] = "no" }, "ApplyingSettings: persistence:", false},
		{"waiting for pods", func(s *scene) {
			s.Spec.Config = oneDirective("databases", "5")
			s.members[1].configMark = resolve(s.Redis).restartMark(s.settings)
		}, "RollingOut: config.databases: until their pods are made anew, a-0, a-2", false},
		{"refused", func(s *scene) {
			s.Spec.Config = oneDirective("hz", "abc")
			s.members[1].refusedSettings = map[string]string{"hz": "ERR no integer"}
		}, `InvalidSpec: config.hz: the servers refuse hz "abc": ERR no integer; the value before`, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := withVolumes(healthy(3))
			c.given(s)
			set := &appsv1.StatefulSet{}
			set.Generation, set.Status.ObservedGeneration, set.Status.Replicas = 2, 2, 3
			list := newStatus(s.Redis, s.situation(), step{do: idle}, set, nil).Conditions
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
