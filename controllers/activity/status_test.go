package activity

import (
	"strings"
	"testing"
	"testing/iotest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/activity/internal/guard"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once"
)

func TestUpdateStatus(t *testing.T) {
	runs := state(corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: testTime}})
	pulls := state(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no such image"}})
	unschedulable := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
			Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes"}}
	}
	suspended := egov1.ActivitySpec{Retries: 1, Suspend: true}
	silent := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
			{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	}
	ending := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionFalse},
			{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	}
	host, retryOnce := egov1.ActivitySpec{Host: "node-1"}, egov1.ActivitySpec{Retries: 1}
	for name, c := range map[string]struct {
		spec       egov1.ActivitySpec
		attempts   []egov1.Attempt
		pod        []func(*corev1.Pod) // nil: there is none
		want       egov1.ProcessState
		conditions string
	}{
		"new":       {want: egov1.Pending, conditions: "Progressing Degraded=False"},
		"journaled": {attempts: []egov1.Attempt{pendingAttempt}, want: egov1.Pending, conditions: "Progressing Degraded=False"},
		"gated": {spec: host, attempts: []egov1.Attempt{adoptedAttempt}, pod: edits(), want: egov1.Pending,
			conditions: "Progressing Degraded=False"},
		"unknown host": {spec: host, attempts: []egov1.Attempt{adoptedAttempt}, pod: edits(ungated, unschedulable), want: egov1.Pending,
			conditions: "Progressing Degraded HostResolved=False"},
		"no place": {attempts: []egov1.Attempt{adoptedAttempt}, pod: edits(ungated, unschedulable), want: egov1.Pending,
			conditions: "Progressing Degraded"},
		"has a node": {spec: host, attempts: []egov1.Attempt{adoptedAttempt}, pod: edits(onNode), want: egov1.Starting,
			conditions: "Progressing Degraded=False HostResolved"},
		"cannot pull": {attempts: []egov1.Attempt{adoptedAttempt}, pod: edits(onNode, pulls), want: egov1.Starting,
			conditions: "Progressing Degraded"},
		"runs": {attempts: []egov1.Attempt{adoptedAttempt}, pod: edits(onNode, runs), want: egov1.Running,
			conditions: "Progressing Degraded=False"},
		"runs, older view": {attempts: []egov1.Attempt{runningAttempt}, pod: edits(onNode), want: egov1.Running,
			conditions: "Progressing Degraded=False"},
		"a stranger": {attempts: []egov1.Attempt{adoptedAttempt}, pod: edits(otherUID, onNode, runs), want: egov1.Pending,
			conditions: "Progressing Degraded=False"},
		"failed, a retry": {spec: retryOnce, attempts: []egov1.Attempt{failedAttempt}, want: egov1.Retrying,
			conditions: "Progressing Degraded=False"},
		"retry has a node": {spec: retryOnce, attempts: []egov1.Attempt{failedAttempt, adoptedAttempt}, pod: edits(onNode), want: egov1.Retrying,
			conditions: "Progressing Degraded=False"},
		"retry runs": {spec: retryOnce, attempts: []egov1.Attempt{failedAttempt, adoptedAttempt}, pod: edits(onNode, runs),
			want: egov1.Running, conditions: "Progressing Degraded=False"},
		"failed": {attempts: []egov1.Attempt{finishedAttempt(egov1.Failed)}, want: egov1.Failed,
			conditions: "Progressing=False Degraded=False Failed"},
		"succeeded": {attempts: []egov1.Attempt{finishedAttempt(egov1.Succeeded)}, want: egov1.Succeeded,
			conditions: "Progressing=False Degraded=False Complete"},
		"timed out": {attempts: []egov1.Attempt{finishedAttempt(egov1.TimedOut)}, want: egov1.TimedOut,
			conditions: "Progressing=False Degraded=False Failed"},
		"cancelled": {attempts: []egov1.Attempt{finishedAttempt(egov1.Cancelled)}, want: egov1.Cancelled,
			conditions: "Progressing=False Degraded=False Failed"},
		"lost": {attempts: []egov1.Attempt{finishedAttempt(egov1.Lost)}, want: egov1.Lost,
			conditions: "Progressing=False Degraded=False Failed"},
		"node silent": {attempts: []egov1.Attempt{adoptedAttempt}, pod: edits(onNode, runs, silent), want: egov1.Running,
			conditions: "Progressing Degraded=False NodeReachable=False"},
		"node silent, pod evicted": {attempts: []egov1.Attempt{adoptedAttempt}, pod: edits(onNode, runs, silent, deleting), want: egov1.Running,
			conditions: "Progressing Degraded=False NodeReachable=False"},
		"ends by itself": {attempts: []egov1.Attempt{adoptedAttempt}, pod: edits(onNode, runs, ending), want: egov1.Running,
			conditions: "Progressing Degraded=False"},

		"suspended": {spec: suspended, want: egov1.Suspended, conditions: "Progressing=False Degraded=False Suspended"},
		"suspended, gated": {spec: suspended, attempts: []egov1.Attempt{adoptedAttempt}, pod: edits(), want: egov1.Suspended,
			conditions: "Progressing=False Degraded=False Suspended"},
		"suspended, runs": {spec: suspended, attempts: []egov1.Attempt{adoptedAttempt}, pod: edits(onNode, runs), want: egov1.Running,
			conditions: "Progressing Degraded=False Suspended=False"},
		"suspended, failed": {spec: suspended, attempts: []egov1.Attempt{failedAttempt}, want: egov1.Suspended,
			conditions: "Progressing=False Degraded=False Suspended"},
		"suspended, second": {spec: suspended, attempts: []egov1.Attempt{failedAttempt, adoptedAttempt}, pod: edits(), want: egov1.Suspended,
			conditions: "Progressing=False Degraded=False Suspended"},
		"suspended, too late": {spec: suspended, attempts: []egov1.Attempt{finishedAttempt(egov1.Succeeded)}, want: egov1.Succeeded,
			conditions: "Progressing=False Degraded=False Complete"},
		"resumed": {spec: retryOnce, attempts: []egov1.Attempt{{Prosta: egov1.Suspended, PodUID: "p1"}}, pod: edits(),
			want: egov1.Pending, conditions: "Progressing Degraded=False"},
		"failed, cancelled": {spec: egov1.ActivitySpec{Retries: 1, Cancel: true}, attempts: []egov1.Attempt{finishedAttempt(egov1.Failed)},
			want: egov1.Failed, conditions: "Progressing=False Degraded=False Failed"},
	} {
		t.Run(name, func(t *testing.T) {
			a := activityWith(c.spec, c.attempts...)
			meta.SetStatusCondition(&a.Status.Conditions,
				metav1.Condition{Type: commonv1.ConditionReady, Status: metav1.ConditionFalse, Reason: "Retrying"})
			var p *corev1.Pod
			if c.pod != nil {
				p = pod(a, c.pod...)
			}
			updateStatus(a, p)
			var words []string
			for _, condition := range a.Status.Conditions {
				if condition.Type == commonv1.ConditionProgressing && condition.Message == "" {
					t.Error("Progressing says nothing")
				}
				if condition.Status == metav1.ConditionTrue {
					words = append(words, condition.Type)
				} else {
					words = append(words, condition.Type+"="+string(condition.Status))
				}
			}
			if got := strings.Join(words, " "); a.Status.Prosta != c.want || got != c.conditions {
				t.Errorf("got %s with %s", a.Status.Prosta, got)
			}
			if a.Status.Attempts == nil {
				t.Error("attempts is nil")
			}
		})
	}
}

// TestWhatKeepsTheGuardAwayIsSaid checks that the status also says what to do, since the user named no such image.
func TestWhatKeepsTheGuardAwayIsSaid(t *testing.T) {
	a := activityWith(egov1.ActivitySpec{Args: []string{"a"}}, guardedAttempt)
	p := pod(a, onNode, unstarted)
	p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: guardContainer, Image: "operator", State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "Back-off: ErrImagePull: unauthorized"},
	}}}
	updateStatus(a, p)
	c := meta.FindStatusCondition(a.Status.Conditions, commonv1.ConditionDegraded)
	if c.Status != metav1.ConditionTrue || a.Status.Prosta != egov1.Starting || !strings.Contains(c.Message, "unauthorized") ||
		!strings.Contains(c.Message, "imagePullSecrets") {
		t.Errorf("%s, %+v", a.Status.Prosta, c)
	}
}

// TestWhatAPodWaitsForIsSaid checks that the wait is no failure, and is over once the command runs.
func TestWhatAPodWaitsForIsSaid(t *testing.T) {
	a := activityWith(egov1.ActivitySpec{}, adoptedAttempt)
	p := pod(a, onNode)
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: appName, State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"},
	}}}
	updateStatus(a, p)
	if s := a.Status; s.Prosta != egov1.Starting || s.Reason != "" || !strings.HasPrefix(s.Message, "its volumes or its network") ||
		meta.IsStatusConditionTrue(s.Conditions, commonv1.ConditionDegraded) {
		t.Errorf("got %+v", s)
	}
	p.Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: testTime}}
	updateStatus(a, p)
	if s := a.Status; s.Prosta != egov1.Running || s.Message != "" {
		t.Errorf("then %+v", s)
	}
}

// TestOthersAreNoFailureOfTheCommand checks that they are none once it runs; before, they may be what it waits for.
func TestOthersAreNoFailureOfTheCommand(t *testing.T) {
	a := activityWith(egov1.ActivitySpec{}, adoptedAttempt)
	degraded := func() bool { return meta.IsStatusConditionTrue(a.Status.Conditions, commonv1.ConditionDegraded) }
	updateStatus(a, pod(a, onNode, unstarted, withSidecar(sidecarUnpullable)))
	if !degraded() || !strings.Contains(a.Status.Message, "container "+sidecar.Name) {
		t.Errorf("before: %+v", a.Status)
	}
	updateStatus(a, pod(a, onNode, state(sidecarRunning), withSidecar(sidecarUnpullable)))
	if degraded() || a.Status.Prosta != egov1.Running || a.Status.Message != "" {
		t.Errorf("while it runs: %+v", a.Status)
	}
}

func finishedAttempt(prosta egov1.ProcessState) egov1.Attempt {
	return egov1.Attempt{Prosta: prosta, PodUID: "p1", Result: egov1.Result{Reason: "Because", FinishTime: &testTime}}
}

// TestDuration checks that the duration counts from the first start, over all retries.
func TestDuration(t *testing.T) {
	later := metav1.NewTime(testTime.Add(90*time.Second + 300*time.Millisecond))
	first := failedAttempt
	first.StartTime, first.FinishTime = &testTime, &testTime
	a := activityWith(egov1.ActivitySpec{Retries: 1}, first,
		egov1.Attempt{Prosta: egov1.Succeeded, Result: egov1.Result{StartTime: &later, FinishTime: &later}})
	updateStatus(a, nil)
	if s := a.Status; s.Duration == nil || s.Duration.Duration != 90*time.Second || !s.StartTime.Equal(&testTime) ||
		!s.FinishTime.Equal(&later) {
		t.Errorf("%v from %v to %v", s.Duration, s.StartTime, s.FinishTime)
	}
}

// TestNodeReachable follows a node that falls silent, and comes back or does not.
func TestNodeReachable(t *testing.T) {
	ready := func(pod, containers corev1.ConditionStatus) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.ContainersReady, Status: containers}, {Type: corev1.PodReady, Status: pod}}
		}
	}
	runs := state(corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: testTime}})
	a := activityWith(egov1.ActivitySpec{}, adoptedAttempt)
	says := func(want metav1.ConditionStatus, edits ...func(*corev1.Pod)) {
		t.Helper()
		updateStatus(a, pod(a, edits...))
		got := meta.FindStatusCondition(a.Status.Conditions, commonv1.ConditionNodeReachable)
		if want == "" && got != nil || want != "" && (got == nil || got.Status != want) {
			t.Errorf("want %q, got %+v", want, got)
		}
	}
	says("", onNode, runs, ready(corev1.ConditionTrue, corev1.ConditionTrue))
	says(metav1.ConditionFalse, onNode, runs, ready(corev1.ConditionFalse, corev1.ConditionTrue))
	says(metav1.ConditionTrue, onNode, runs, ready(corev1.ConditionTrue, corev1.ConditionTrue))
	says(metav1.ConditionFalse, onNode, runs, ready(corev1.ConditionFalse, corev1.ConditionTrue))
	says(metav1.ConditionTrue, phase(corev1.PodSucceeded, ""), exited(0, "Completed", ""), ready(corev1.ConditionFalse, corev1.ConditionFalse))
	says(metav1.ConditionFalse, onNode, runs, ready(corev1.ConditionFalse, corev1.ConditionTrue))
	says(metav1.ConditionFalse, phase(corev1.PodFailed, ""), deleting, func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}
	})
}

func TestLastBytes(t *testing.T) {
	thousand := strings.Repeat("\n", maxTailLines)
	for name, c := range map[string]struct {
		in        string
		limit     int
		want      string
		truncated bool
	}{
		"empty":                   {"", 10, "", false},
		"short":                   {"abc", 10, "abc", false},
		"just fits":               {"abc", 3, "abc", false},
		"long":                    {strings.Repeat("x", 100000) + "end", 3, "end", true},
		"cut in a ü":              {"aüb", 2, "b", true},
		"whole ü":                 {"aüb", 3, "üb", true},
		"ends in a ü":             {"aü\xc3", 10, "aü", false},
		"a byte outside of UTF-8": {"a\xffb", 10, "a?b", false},
		"zero byte":               {"a\x00b", 10, "a?b", false},
		"bytes alone":             {"\x80\x80", 10, "", false},
		"1000 lines":              {thousand, 4096, thousand, false},
		"no end":                  {"first\n" + thousand[1:] + "last", 4096, thousand[1:] + "last", true},
		"one more":                {"first\n" + thousand, 4096, thousand, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tailOf(iotest.OneByteReader(strings.NewReader(c.in)), c.limit, guard.Report{})
			if err != nil || got.text != c.want || got.truncated != c.truncated || got.complete != nil {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// TestAnEndWithoutATimeIsNoPanic has a status, written by somebody else, whose run has ended but not its attempt.
func TestAnEndWithoutATimeIsNoPanic(t *testing.T) {
	a := activityWith(egov1.ActivitySpec{}, runningAttempt)
	a.Status.Prosta = egov1.Succeeded
	updateStatus(a, nil)
	if a.Status.Prosta != egov1.Succeeded || a.Status.Duration != nil || nextStep(a, nil, testTime.Time) != once.Wait {
		t.Errorf("got %+v", a.Status)
	}
}
