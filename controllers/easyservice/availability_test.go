package easyservice

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

func TestMinReadySeconds(t *testing.T) {
	asks := &appv1.Probes{Readiness: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"check"}}}}}
	for reason, c := range map[string]struct {
		spec appv1.EasyServiceSpec
		want int32
	}{
		"nothing asks":               {appv1.EasyServiceSpec{}, 10},
		"nothing asks for UDP":       {appv1.EasyServiceSpec{Ports: []appv1.Port{{Port: 53, Protocol: corev1.ProtocolUDP}}}, 10},
		"a TCP port is knocked at":   {appv1.EasyServiceSpec{Ports: []appv1.Port{{Port: 80}}}, 0},
		"a probe asks":               {appv1.EasyServiceSpec{Probes: asks}, 0},
		"only liveness is asked for": {appv1.EasyServiceSpec{Probes: &appv1.Probes{Liveness: asks.Readiness}}, 10},
		"the user's":                 {appv1.EasyServiceSpec{Strategy: &appv1.Strategy{MinReadySeconds: 1}}, 1},
		"the user's, of a port": {appv1.EasyServiceSpec{Ports: []appv1.Port{{Port: 80}}, Strategy: &appv1.Strategy{MinReadySeconds: 7}},
			7},
		"below a short deadline":         {appv1.EasyServiceSpec{Strategy: &appv1.Strategy{ProgressDeadlineSeconds: ptr.To[int32](5)}}, 4},
		"below the shortest deadline":    {appv1.EasyServiceSpec{Strategy: &appv1.Strategy{ProgressDeadlineSeconds: ptr.To[int32](1)}}, 0},
		"below a deadline that is ample": {appv1.EasyServiceSpec{Strategy: &appv1.Strategy{ProgressDeadlineSeconds: ptr.To[int32](20)}}, 10},
	} {
		e := newEasyService("a", c.spec)
		if got := ptr.Deref(deployment(e, template(e, "")).Spec.MinReadySeconds, 0); got != c.want {
			t.Errorf("%s: %d, not %d", reason, got, c.want)
		}
	}
}

var testTime = metav1.NewTime(time.Unix(1_000_000, 0))

func secondsLater(seconds int) metav1.Time {
	return metav1.NewTime(testTime.Add(time.Duration(seconds) * time.Second))
}

// podAt is a pod that was created at testTime and became ready so many seconds later; 0 is not ready.
func podAt(readySince int, s corev1.ContainerStatus) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a-1", CreationTimestamp: testTime}}
	s.Name, s.RestartCount = appName, 2
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{s}
	if readySince > 0 {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue,
			LastTransitionTime: secondsLater(readySince)}}
	}
	return pod
}

var (
	exited            = &corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error"}
	containerRuns     = corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	containerStopped  = corev1.ContainerStatus{State: corev1.ContainerState{Terminated: exited}}
	containerBacksOff = corev1.ContainerStatus{
		State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: exited},
	}
	containerRestarted = corev1.ContainerStatus{State: containerRuns.State, LastTerminationState: containerBacksOff.LastTerminationState}
	crashLoopPhases    = map[string]func(second int) corev1.Pod{
		"it has stopped":    func(int) corev1.Pod { return podAt(0, containerStopped) },
		"it waits":          func(int) corev1.Pod { return podAt(0, containerBacksOff) },
		"it runs once more": func(second int) corev1.Pod { return podAt(second-1, containerRestarted) },
		"it stopped again": func(int) corev1.Pod {
			return podAt(0, corev1.ContainerStatus{State: containerStopped.State, LastTerminationState: containerBacksOff.LastTerminationState})
		},
	}
)

// A container without a probe that exits after a second never counts as ready, and its conditions stay the same at
// each restart.
func TestWhatKeepsStoppingIsNeverReady(t *testing.T) {
	e := newEasyService("a", appv1.EasyServiceSpec{Image: "a"})
	var before []metav1.Condition
	for reason, phase := range crashLoopPhases {
		pod := phase(100)
		d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](1)}}
		d.Generation, d.Status.ObservedGeneration, d.Status.Replicas, d.Status.UpdatedReplicas = 1, 1, 1, 1
		if len(pod.Status.Conditions) > 0 {
			d.Status.ReadyReplicas = 1
		}
		got := status(e, converge.Observed{"Deployment/a": d}, world{pods: []corev1.Pod{pod}, now: secondsLater(100)},
			rolloutRequest{specHash: "1", appliedHash: "1", deploymentApplied: true})
		for kind, want := range map[string]metav1.ConditionStatus{
			commonv1.ConditionReady: metav1.ConditionFalse, commonv1.ConditionAvailable: metav1.ConditionFalse,
			commonv1.ConditionDegraded: metav1.ConditionTrue,
		} {
			if c := meta.FindStatusCondition(got.Conditions, kind); c.Status != want {
				t.Errorf("%s: %s is %s: %s", reason, kind, c.Status, c.Message)
			}
		}
		if got.LastRollout.Result != appv1.RolloutRunning {
			t.Errorf("%s: the rollout is %s", reason, got.LastRollout.Result)
		}
		for i := range got.Conditions {
			got.Conditions[i].LastTransitionTime = metav1.Time{}
		}
		if before != nil && fmt.Sprint(before) != fmt.Sprint(got.Conditions) {
			t.Errorf("%s: %v\nis not what was said before: %v", reason, got.Conditions, before)
		}
		before = got.Conditions
	}
}

// The Deployment controller takes each start of a container for progress; we do not.
func TestARolloutThatKeepsStoppingEnds(t *testing.T) {
	e := newEasyService("a", appv1.EasyServiceSpec{Image: "a",
		Strategy: &appv1.Strategy{OnFailure: appv1.Rollback, ProgressDeadlineSeconds: ptr.To[int32](20)}})
	e.Status.LastRollout = &appv1.Rollout{Template: "2", StartTime: testTime, Result: appv1.RolloutRunning}
	asks := rolloutRequest{specHash: "2", appliedHash: "2", deploymentApplied: true}
	for reason, phase := range crashLoopPhases {
		if w := (world{pods: []corev1.Pod{phase(19)}, now: secondsLater(19)}); isRolloutOverdue(e, &appsv1.Deployment{}, asks, w) ||
			untilDeadline(e, &appsv1.Deployment{}, w) != time.Second {
			t.Errorf("%s: too early, or due in %s", reason, untilDeadline(e, &appsv1.Deployment{}, w))
		}
		if w := (world{pods: []corev1.Pod{phase(20)}, now: secondsLater(20)}); !isRolloutOverdue(e, &appsv1.Deployment{}, asks, w) ||
			untilDeadline(e, &appsv1.Deployment{}, w) != 0 {
			t.Errorf("%s: it continues, or is due in %s", reason, untilDeadline(e, &appsv1.Deployment{}, w))
		}
	}
}

func TestDeadline(t *testing.T) {
	old := podAt(5, containerRuns)
	old.CreationTimestamp = secondsLater(-900)
	going := podAt(0, containerStopped)
	going.DeletionTimestamp = &testTime
	evicted := podAt(0, containerStopped)
	evicted.Status.Phase = corev1.PodFailed
	var paused, continued appsv1.Deployment
	paused.Spec.Paused = true
	continued.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Reason: "DeploymentResumed",
		LastUpdateTime: secondsLater(25)}}
	for _, c := range []struct {
		reason string
		change func(*appv1.EasyService, *rolloutRequest)
		pods   []corev1.Pod
		held   appsv1.Deployment
		want   time.Duration // from testTime; 0 for never
	}{
		{reason: "a pod that was made", pods: []corev1.Pod{podAt(0, containerRuns)}, want: 600 * time.Second},
		{reason: "a pod that is ready for the first time", pods: []corev1.Pod{podAt(30, containerRuns)}, want: 640 * time.Second},
		{reason: "a pod that is proven", pods: []corev1.Pod{podAt(5, containerRestarted), podAt(0, containerBacksOff)}, want: 615 * time.Second},
		{reason: "an old one that is proven", pods: []corev1.Pod{old}, want: 615 * time.Second},
		{reason: "there are no pods yet: the size was 0 for a week"},
		{reason: "those that are there go", pods: []corev1.Pod{going}},
		{reason: "those that are there have ended", pods: []corev1.Pod{evicted}},
		{reason: "a human holds it", pods: []corev1.Pod{podAt(0, containerRuns)}, held: paused},
		{reason: "a human held it", pods: []corev1.Pod{podAt(0, containerRuns)}, held: continued, want: 625 * time.Second},
		{reason: "size 0", pods: []corev1.Pod{podAt(0, containerRuns)},
			change: func(e *appv1.EasyService, _ *rolloutRequest) { e.Spec.Size = ptr.To[int32](0) }},
		{reason: "completed", pods: []corev1.Pod{podAt(0, containerRuns)},
			change: func(e *appv1.EasyService, _ *rolloutRequest) { e.Status.LastRollout.Result = appv1.RolloutCompleted }},
		{reason: "the first look", pods: []corev1.Pod{podAt(0, containerRuns)},
			change: func(e *appv1.EasyService, _ *rolloutRequest) { e.Status.LastRollout = nil }},
	} {
		e, r := newEasyService("a", appv1.EasyServiceSpec{Image: "a"}), rolloutRequest{specHash: "2", appliedHash: "2", deploymentApplied: true}
		e.Status.LastRollout = &appv1.Rollout{Template: "2", StartTime: testTime, Result: appv1.RolloutRunning}
		if c.change != nil {
			c.change(e, &r)
		}
		now := secondsLater(31)
		if got := untilDeadline(e, &c.held, world{pods: c.pods, now: now}); got != max(0, c.want-31*time.Second) {
			t.Errorf("%s: due in %s", c.reason, got)
		}
		at := func(when time.Duration) bool {
			return isRolloutOverdue(e, &c.held, r, world{pods: c.pods, now: metav1.NewTime(testTime.Add(when))})
		}
		if c.want > 0 && (at(c.want-time.Second) || !at(c.want)) || c.want == 0 && at(24*time.Hour) {
			t.Errorf("%s: it does not end in time", c.reason)
		}
	}
}

func TestADeadlineIsOfWhatTheDeploymentHolds(t *testing.T) {
	e := newEasyService("a", appv1.EasyServiceSpec{Image: "a"})
	e.Status.LastRollout = &appv1.Rollout{Template: "2", StartTime: testTime, Result: appv1.RolloutRunning}
	w := world{pods: []corev1.Pod{podAt(0, containerBacksOff)}, now: secondsLater(600)}
	for r, want := range map[rolloutRequest]bool{
		{specHash: "2", appliedHash: "2", deploymentApplied: true}: true,
		{specHash: "2", appliedHash: "2"}:                          false,
		{specHash: "2", appliedHash: "1", deploymentApplied: true}: false,
		{specHash: "3", appliedHash: "3", deploymentApplied: true}: false,
	} {
		if got := isRolloutOverdue(e, &appsv1.Deployment{}, r, w); got != want {
			t.Errorf("%+v: %t", r, got)
		}
	}
}
