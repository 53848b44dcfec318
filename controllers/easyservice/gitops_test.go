package easyservice

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/gitopstest"
)

func TestWhatGitOpsToolsSeeOfAnEasyService(t *testing.T) {
	late := withCondition(appsv1.DeploymentProgressing, corev1.ConditionFalse, reasonDeadlineExceeded, "")
	for _, c := range []struct {
		name       string
		deployment *appsv1.Deployment
		applied    string // the hash of the template that runs; that of the spec is "2"
		paused     bool
		held       []string // what the pause holds back
		want       gitopstest.Verdict
	}{
		{"it has no Deployment yet", &appsv1.Deployment{}, "2", false, nil, gitopstest.InProgress},
		{"it rolls out", deployed(3), "2", false, nil, gitopstest.InProgress},
		{"it is ready", deployed(4), "2", false, nil, gitopstest.Current},
		{"its rollout exceeded the deadline", deployed(1, late), "2", false, nil, gitopstest.Failed},
		{"it was rolled back", deployed(4), "1", false, nil, gitopstest.Failed},
		{"a pause holds nothing back", deployed(4), "2", true, nil, gitopstest.Current},
		{"a pause holds an edit back", deployed(4), "2", true, []string{"Deployment/a"}, gitopstest.InProgress},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEasyService("a", appv1.EasyServiceSpec{Size: ptr.To[int32](4), Paused: c.paused})
			e.Status.LastRollout = &appv1.Rollout{Template: "2", StartTime: testTime, Result: appv1.RolloutRunning}
			asked := rolloutRequest{specHash: "2", appliedHash: c.applied, deploymentApplied: true}
			e.Status = status(e, converge.Observed{"Deployment/a": c.deployment}, world{now: secondsLater(2)}, asked)
			conditions.SetPausedChanges(e.GetConditions(), e.Generation, c.held)
			gitopstest.Check(t, e, c.want)
		})
	}
}
