package activity

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/gitopstest"
)

func TestWhatGitOpsToolsSeeOfAnActivity(t *testing.T) {
	runs := state(corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: testTime}})
	unpullable := state(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no such image"}})
	endedAs := func(prosta egov1.ProcessState) egov1.Attempt {
		attempt := finishedAttempt(prosta)
		attempt.Message = "how it ended"
		return attempt
	}
	once, twice := egov1.ActivitySpec{}, egov1.ActivitySpec{Retries: 1}
	suspended := egov1.ActivitySpec{Retries: 1, Suspend: true}
	for _, c := range []struct {
		name     string
		spec     egov1.ActivitySpec
		attempts []egov1.Attempt
		pod      []func(*corev1.Pod) // nil: there is none
		want     gitopstest.Verdict
	}{
		{"it waits for a node", once, []egov1.Attempt{adoptedAttempt}, edits(), gitopstest.InProgress},
		{"its image cannot be pulled", once, []egov1.Attempt{adoptedAttempt}, edits(onNode, unpullable), gitopstest.InProgress},
		{"it runs", once, []egov1.Attempt{adoptedAttempt}, edits(onNode, runs), gitopstest.InProgress},
		{"it failed, and is retried", twice, []egov1.Attempt{failedAttempt}, nil, gitopstest.InProgress},
		{"the retry runs", twice, []egov1.Attempt{failedAttempt, adoptedAttempt}, edits(onNode, runs), gitopstest.InProgress},
		{"it is complete", once, []egov1.Attempt{endedAs(egov1.Succeeded)}, nil, gitopstest.Current},
		{"it failed", once, []egov1.Attempt{endedAs(egov1.Failed)}, nil, gitopstest.Failed},
		{"it took too long", once, []egov1.Attempt{endedAs(egov1.TimedOut)}, nil, gitopstest.Failed},
		{"it was cancelled", once, []egov1.Attempt{endedAs(egov1.Cancelled)}, nil, gitopstest.Failed},
		{"its node is lost", once, []egov1.Attempt{endedAs(egov1.Lost)}, nil, gitopstest.Failed},
		{"it is suspended", suspended, nil, nil, gitopstest.Suspended},
		{"its retry is suspended", suspended, []egov1.Attempt{failedAttempt}, nil, gitopstest.Suspended},
		{"it was suspended after its start", suspended, []egov1.Attempt{adoptedAttempt}, edits(onNode, runs), gitopstest.InProgress},
		{"it was suspended after its end", suspended, []egov1.Attempt{endedAs(egov1.Succeeded)}, nil, gitopstest.Current},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := activityWith(c.spec, c.attempts...)
			var p *corev1.Pod
			if c.pod != nil {
				p = pod(a, c.pod...)
			}
			updateStatus(a, p)
			gitopstest.Check(t, a, c.want)
		})
	}
}

func TestWhatGitOpsToolsSeeOfAnActivityThatCannotStart(t *testing.T) {
	a := activityWith(egov1.ActivitySpec{})
	updateStatus(a, nil)
	before := a.DeepCopy().Status.Conditions
	conditions.SetFailedPass(a.GetConditions(), before, 1,
		&conditions.Problem{Reason: commonv1.ReasonRetrying, Message: "no answer", Transient: true})
	gitopstest.Check(t, a, gitopstest.InProgress)

	updateStatus(a, nil)
	conditions.SetFailedPass(a.GetConditions(), before, 1, &conditions.Problem{Reason: commonv1.ReasonRefusedByServer, Message: "a quota"})
	gitopstest.Check(t, a, gitopstest.Failed)

	updateStatus(a, nil)
	if !reportUnknownUser(a, &unknownUserError{}) {
		t.Fatal("it is not reported")
	}
	gitopstest.Check(t, a, gitopstest.Failed)

	updateStatus(a, nil) // the ConfigMap was fixed
	gitopstest.Check(t, a, gitopstest.InProgress)
}
