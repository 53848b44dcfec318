package easyservice

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

func TestNewDefaultsRollNothing(t *testing.T) {
	releases.Defaults(t, "EasyService", func(e *appv1.EasyService) { e.Spec.PodLabels = map[string]string{"changed": "1"} },
		func(e *appv1.EasyService, live corev1.PodTemplateSpec, pods []corev1.Pod, noPods bool) bool {
			return chooseDefaults(e, "", world{running: live, pods: pods, noPods: noPods}) == parts.CurrentDefaults
		})
}

// A template that was rolled back is known by its hash: with other defaults it would be another one, and be tried again.
func TestWhatWasRolledBackStaysSoAfterAnUpgrade(t *testing.T) {
	e := builders.EasyService("a").Image("broken:2").Build()
	e.Status.LastRollout = &appv1.Rollout{Template: templateHash(template(e, "")), Result: appv1.RolloutRolledBack}
	before := *parts.ToApplyConfig[corev1.PodTemplateSpec](template(builders.EasyService("a").Image("good:1").Build(), ""))
	ran := []corev1.Pod{{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{RestartCount: 1}}}}}
	if got := chooseDefaults(e, "", world{running: before, pods: ran}); got != parts.FormerDefaults {
		t.Errorf("it is made with defaults %d, and tried again", got)
	}
}

func TestEachContainerHasResources(t *testing.T) {
	none := func(string) bool { return false } // how much a service needs is the user's to say
	releases.Resources(t, "EasyService", none, func(e *appv1.EasyService) corev1.PodSpec {
		return parts.ToApplyConfig[corev1.PodTemplateSpec](withDefaults(e, template(e, ""), parts.CurrentDefaults)).Spec
	})
}
