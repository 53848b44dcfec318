package activity

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/activity/internal/guard"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once"
)

// activityWith returns an Activity with these attempts.
func activityWith(spec egov1.ActivitySpec, attempts ...egov1.Attempt) *egov1.Activity {
	a := &egov1.Activity{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "once", UID: "abcdef-1", CreationTimestamp: testTime},
		Spec: spec}
	for i := range attempts {
		attempts[i].Number = int32(i) + 1
		attempts[i].PodName = podName(a, attempts[i].Number)
	}
	a.Status.Attempts, a.Status.Image = attempts, "busybox"
	return a
}

// defaultRetryPolicy sets no more than the default causes; unlike an empty policy it has a backoff.
var defaultRetryPolicy = egov1.RetryPolicy{Causes: []egov1.RetryCause{egov1.RetryFailed}}

var (
	pendingAttempt = egov1.Attempt{Prosta: egov1.Pending}
	adoptedAttempt = egov1.Attempt{Prosta: egov1.Pending, PodUID: "p1"}
	runningAttempt = egov1.Attempt{Prosta: egov1.Running, PodUID: "p1", Result: egov1.Result{StartTime: &testTime}}
	failedAttempt  = egov1.Attempt{Prosta: egov1.Failed, PodUID: "p0"}
)

// pod returns the current attempt's pod, gated, as we make it; edits change it.
func pod(a *egov1.Activity, edits ...func(*corev1.Pod)) *corev1.Pod {
	p := desiredPod(a, *currentAttempt(a))
	p.UID = "p1"
	for _, edit := range edits {
		edit(p)
	}
	return p
}

func ungated(p *corev1.Pod)  { p.Spec.SchedulingGates = nil }
func otherUID(p *corev1.Pod) { p.UID = "p2" }
func unowned(p *corev1.Pod)  { p.OwnerReferences = nil }
func deleting(p *corev1.Pod) { p.DeletionTimestamp = &testTime }
func onNode(p *corev1.Pod)   { ungated(p); p.Spec.NodeName = "node-1" }

func phase(phase corev1.PodPhase, reason string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { onNode(p); p.Status.Phase, p.Status.Reason = phase, reason }
}

func state(s corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: appName, State: s}} }
}

func exited(code int32, reason, message string) func(*corev1.Pod) {
	return state(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, Message: message, StartedAt: testTime, FinishedAt: testTime,
	}})
}

// unstarted sets what the kubelet says of a container whose init container failed.
func unstarted(p *corev1.Pod) {
	state(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}})(p)
}

// guardEnded sets the end of the container that installs the guard.
func guardEnded(code int32, reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: guardContainer, State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message, StartedAt: testTime,
				FinishedAt: testTime},
		}}}
	}
}

func TestNextStep(t *testing.T) {
	retryOnce, cancelled := egov1.ActivitySpec{Retries: 1}, egov1.ActivitySpec{Cancel: true}
	suspended := egov1.ActivitySpec{Retries: 1, Suspend: true}
	withStartDeadline := egov1.ActivitySpec{Retries: 1, StartDeadline: &metav1.Duration{Duration: time.Minute}}
	backing := egov1.ActivitySpec{Retries: 1, RetryPolicy: defaultRetryPolicy}
	ended := egov1.Attempt{Prosta: egov1.Failed, PodUID: "p0", Result: egov1.Result{FinishTime: &testTime}}
	runs := state(corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: testTime}})
	for name, c := range map[string]struct {
		spec     egov1.ActivitySpec
		attempts []egov1.Attempt
		pod      []func(*corev1.Pod) // nil: there is none
		after    time.Duration       // since the creation
		want     once.Step
	}{
		"new":                        {want: stepJournal},
		"new but cancelled":          {spec: cancelled, want: stepJournal},
		"journaled":                  {attempts: []egov1.Attempt{pendingAttempt}, want: once.Create},
		"journaled, cancelled":       {spec: cancelled, attempts: []egov1.Attempt{pendingAttempt}, want: once.Save},
		"made":                       {attempts: []egov1.Attempt{pendingAttempt}, pod: edits(), want: once.JournalUID},
		"made, cancelled":            {spec: cancelled, attempts: []egov1.Attempt{pendingAttempt}, pod: edits(), want: once.Save},
		"made, then deleted":         {attempts: []egov1.Attempt{pendingAttempt}, pod: edits(deleting), want: once.JournalUID},
		"a stranger of its name":     {attempts: []egov1.Attempt{pendingAttempt}, pod: edits(unowned), want: once.Refuse},
		"made without a gate":        {attempts: []egov1.Attempt{pendingAttempt}, pod: edits(ungated), want: once.Refuse},
		"adopted":                    {attempts: []egov1.Attempt{adoptedAttempt}, pod: edits(), want: once.Start},
		"adopted, cancelled":         {spec: cancelled, attempts: []egov1.Attempt{adoptedAttempt}, pod: edits(), want: once.Stop},
		"adopted, another came":      {attempts: []egov1.Attempt{adoptedAttempt}, pod: edits(otherUID), want: once.Save},
		"adopted, gone":              {attempts: []egov1.Attempt{adoptedAttempt}, want: once.Save},
		"started":                    {attempts: []egov1.Attempt{adoptedAttempt}, pod: edits(ungated), want: once.Wait},
		"runs":                       {attempts: []egov1.Attempt{runningAttempt}, pod: edits(onNode), want: once.Wait},
		"runs, cancelled":            {spec: cancelled, attempts: []egov1.Attempt{runningAttempt}, pod: edits(onNode), want: once.Stop},
		"runs, cancelled, stopping":  {spec: cancelled, attempts: []egov1.Attempt{runningAttempt}, pod: edits(onNode, deleting), want: once.Wait},
		"runs, deleted":              {attempts: []egov1.Attempt{runningAttempt}, pod: edits(onNode, deleting), want: once.Wait},
		"gated, deleted":             {attempts: []egov1.Attempt{adoptedAttempt}, pod: edits(deleting), want: once.Save},
		"unbound, deleted":           {attempts: []egov1.Attempt{adoptedAttempt}, pod: edits(ungated, deleting), want: once.Save},
		"succeeded":                  {attempts: []egov1.Attempt{runningAttempt}, pod: edits(phase(corev1.PodSucceeded, "")), want: once.Save},
		"failed":                     {attempts: []egov1.Attempt{runningAttempt}, pod: edits(phase(corev1.PodFailed, "")), want: once.Save},
		"recorded":                   {attempts: []egov1.Attempt{failedAttempt}, want: once.Wait},
		"recorded, a retry is left":  {spec: retryOnce, attempts: []egov1.Attempt{failedAttempt}, want: stepJournal},
		"recorded, no retry is left": {spec: retryOnce, attempts: []egov1.Attempt{failedAttempt, failedAttempt}, want: once.Wait},
		"recorded, then cancelled": {spec: egov1.ActivitySpec{Retries: 1, Cancel: true}, attempts: []egov1.Attempt{failedAttempt},
			want: once.Wait},
		"lost is not retried":      {spec: retryOnce, attempts: []egov1.Attempt{{Prosta: egov1.Lost}}, want: once.Wait},
		"timed out is not retried": {spec: retryOnce, attempts: []egov1.Attempt{{Prosta: egov1.TimedOut}}, want: once.Wait},
		"cancelled is not retried": {spec: retryOnce, attempts: []egov1.Attempt{{Prosta: egov1.Cancelled}}, want: once.Wait},

		"suspended, new":       {spec: suspended, want: once.Wait},
		"suspended, journaled": {spec: suspended, attempts: []egov1.Attempt{pendingAttempt}, want: once.Wait},
		"suspended, made":      {spec: suspended, attempts: []egov1.Attempt{pendingAttempt}, pod: edits(), want: once.JournalUID},
		"suspended, adopted":   {spec: suspended, attempts: []egov1.Attempt{adoptedAttempt}, pod: edits(), want: once.Wait},
		"suspended, runs":      {spec: suspended, attempts: []egov1.Attempt{runningAttempt}, pod: edits(onNode), want: once.Wait},
		"suspended, ended": {spec: suspended, attempts: []egov1.Attempt{runningAttempt}, pod: edits(phase(corev1.PodFailed, "")),
			want: once.Save},
		"suspended, a retry left": {spec: suspended, attempts: []egov1.Attempt{failedAttempt}, want: once.Wait},
		"suspended and cancelled": {spec: egov1.ActivitySpec{Suspend: true, Cancel: true}, want: stepJournal},

		"in time":  {spec: withStartDeadline, after: time.Minute - 1, want: stepJournal},
		"too late": {spec: withStartDeadline, after: time.Minute, want: stepJournal},
		"too late, journaled": {spec: withStartDeadline, after: time.Minute, attempts: []egov1.Attempt{pendingAttempt},
			want: once.Save},
		"too late, made": {spec: withStartDeadline, after: time.Minute, attempts: []egov1.Attempt{pendingAttempt}, pod: edits(),
			want: once.Save},
		"too late, adopted": {spec: withStartDeadline, after: time.Minute, attempts: []egov1.Attempt{adoptedAttempt}, pod: edits(),
			want: once.Stop},
		"too late, on its way": {spec: withStartDeadline, after: time.Minute, attempts: []egov1.Attempt{adoptedAttempt},
			pod: edits(onNode), want: once.Stop},
		"too late, going": {spec: withStartDeadline, after: time.Minute, attempts: []egov1.Attempt{adoptedAttempt},
			pod: edits(onNode, deleting), want: once.Wait},
		"just started": {spec: withStartDeadline, after: time.Minute, attempts: []egov1.Attempt{adoptedAttempt},
			pod: edits(onNode, runs), want: once.Wait},
		"runs beyond it": {spec: withStartDeadline, after: time.Minute, attempts: []egov1.Attempt{runningAttempt},
			pod: edits(onNode), want: once.Wait},
		"too late, never started once": {spec: withStartDeadline, after: time.Minute, attempts: []egov1.Attempt{failedAttempt},
			want: stepJournal},
		"too late is not retried": {spec: withStartDeadline, after: time.Minute, want: once.Wait,
			attempts: []egov1.Attempt{{Prosta: egov1.Failed, Result: egov1.Result{Reason: commonv1.ReasonStartDeadlineExceeded}}}},
		"too late though suspended": {after: time.Minute, want: stepJournal,
			spec: egov1.ActivitySpec{Suspend: true, StartDeadline: &metav1.Duration{Duration: time.Minute}}},

		"before the backoff ends":    {spec: backing, after: 10*time.Second - 1, attempts: []egov1.Attempt{ended}, want: once.Wait},
		"when the backoff has ended": {spec: backing, after: 10 * time.Second, attempts: []egov1.Attempt{ended}, want: stepJournal},
	} {
		t.Run(name, func(t *testing.T) {
			a := activityWith(c.spec, c.attempts...)
			var p *corev1.Pod
			if c.pod != nil {
				p = pod(a, c.pod...)
			}
			if got := nextStep(a, p, testTime.Add(c.after)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func edits(e ...func(*corev1.Pod)) []func(*corev1.Pod) { return append([]func(*corev1.Pod){}, e...) }

func TestVerdict(t *testing.T) {
	twice := egov1.ActivitySpec{Retries: 1}
	for name, c := range map[string]struct {
		a    *egov1.Activity // nil: gone
		pod  []func(*corev1.Pod)
		want verdict
	}{
		"the Activity is gone":  {pod: edits(onNode), want: verdictRelease},
		"no journal has it yet": {a: activityWith(twice, pendingAttempt), want: verdictKeep},
		"journaled":             {a: activityWith(twice, adoptedAttempt), want: verdictKeep},
		"journaled, unowned":    {a: activityWith(twice, adoptedAttempt), pod: edits(unowned), want: verdictKeep},
		"its end is written down": {a: activityWith(twice, egov1.Attempt{Prosta: egov1.Failed, PodUID: "p1"}),
			pod: edits(phase(corev1.PodFailed, "")), want: verdictRelease},
		"of a namesake": {a: activityWith(twice, pendingAttempt), pod: edits(func(p *corev1.Pod) { p.OwnerReferences[0].UID = "old" }),
			want: verdictRelease},
		"orphaned":            {a: activityWith(twice, pendingAttempt), pod: edits(unowned), want: verdictRelease},
		"made once too often": {a: activityWith(twice, adoptedAttempt), pod: edits(otherUID), want: verdictDiscard},
		"made too late":       {a: activityWith(egov1.ActivitySpec{}, egov1.Attempt{Prosta: egov1.Cancelled}), want: verdictDiscard},
		"discarded":           {a: activityWith(twice, adoptedAttempt), pod: edits(otherUID, deleting), want: verdictRelease},
		"of an attempt to come": {a: activityWith(twice, adoptedAttempt),
			pod: edits(otherUID, func(p *corev1.Pod) { p.Name = "once-abcdef-2" }), want: verdictKeep},
		"of an attempt that will not come": {a: activityWith(egov1.ActivitySpec{}, failedAttempt), want: verdictDiscard,
			pod: edits(func(p *corev1.Pod) { p.Name = "once-abcdef-2" })},
	} {
		t.Run(name, func(t *testing.T) {
			from := c.a
			if from == nil {
				from = activityWith(twice, pendingAttempt)
			}
			if got := verdictFor(c.a, pod(from, c.pod...)); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
	dying := activityWith(twice, adoptedAttempt)
	dying.DeletionTimestamp = &testTime
	if got := verdictFor(dying, pod(dying)); got != verdictRelease {
		t.Errorf("being deleted: got %d", got)
	}
}

// refusedAfter sets what a kubelet leaves that refused the pod so long after its first report on it.
func refusedAfter(took time.Duration) func(*corev1.Pod) {
	at := metav1.NewTime(testTime.Add(took))
	return func(p *corev1.Pod) {
		p.Status.StartTime = &testTime
		p.ManagedFields = []metav1.ManagedFieldsEntry{
			{Manager: "kube-scheduler", Subresource: "status", Time: &testTime, FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:conditions":{}}}`)},
			{Manager: "kubelet", Subresource: "status", Time: &at, FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:phase":{},"f:startTime":{}}}`)},
		}
	}
}

func TestDetermineEnd(t *testing.T) {
	runs := state(corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: testTime}})
	cancelled := egov1.ActivitySpec{Cancel: true}
	tooLate := egov1.ActivitySpec{Retries: 1, StartDeadline: &metav1.Duration{}}
	inTime := egov1.ActivitySpec{StartDeadline: &metav1.Duration{Duration: time.Second}}
	neverLived := state(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: 128, Reason: "StartError", StartedAt: metav1.Unix(0, 0), FinishedAt: testTime,
	}})
	ranBrought := guardedAttempt
	ranBrought.StartTime = &testTime
	givenUp := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}
	}
	for name, c := range map[string]struct {
		spec    egov1.ActivitySpec
		attempt egov1.Attempt
		pod     []func(*corev1.Pod) // nil: there is none
		prosta  egov1.ProcessState
		reason  string
		exit    *int32
		signal  *int32
	}{
		"exit 0": {pod: edits(phase(corev1.PodSucceeded, ""), exited(0, "Completed", "")), prosta: egov1.Succeeded,
			reason: commonv1.ReasonExited, exit: ptr.To[int32](0)},
		"exit 3": {pod: edits(phase(corev1.PodFailed, ""), exited(3, "Error", "")), prosta: egov1.Failed,
			reason: commonv1.ReasonExited, exit: ptr.To[int32](3)},
		"killed": {pod: edits(phase(corev1.PodFailed, ""), exited(137, "OOMKilled", "")), prosta: egov1.Failed,
			reason: "OOMKilled", exit: ptr.To[int32](137), signal: ptr.To[int32](9)},
		"cannot start": {pod: edits(phase(corev1.PodFailed, ""), exited(128, "StartError", "no /bin/sh")),
			prosta: egov1.Failed, reason: "StartError", exit: ptr.To[int32](128)},
		"timeout": {pod: edits(phase(corev1.PodFailed, "DeadlineExceeded"), exited(143, "Error", "")),
			prosta: egov1.TimedOut, reason: commonv1.ReasonDeadlineExceeded, exit: ptr.To[int32](143), signal: ptr.To[int32](15)},
		"timeout before it ran": {pod: edits(phase(corev1.PodFailed, "DeadlineExceeded")), prosta: egov1.TimedOut,
			reason: commonv1.ReasonDeadlineExceeded},
		"cancelled": {spec: cancelled, pod: edits(phase(corev1.PodFailed, ""), deleting, exited(143, "Error", "")),
			prosta: egov1.Cancelled, reason: commonv1.ReasonCancelled, exit: ptr.To[int32](143), signal: ptr.To[int32](15)},
		"cancelled, ended well": {spec: cancelled, pod: edits(phase(corev1.PodSucceeded, ""), deleting, exited(0, "Completed", "")),
			prosta: egov1.Succeeded, reason: commonv1.ReasonExited, exit: ptr.To[int32](0)},
		"cancelled, failed before": {spec: cancelled, pod: edits(phase(corev1.PodFailed, ""), exited(1, "Error", "")),
			prosta: egov1.Failed, reason: commonv1.ReasonExited, exit: ptr.To[int32](1)},
		"cancelled before a node": {spec: cancelled, pod: edits(deleting), prosta: egov1.Cancelled, reason: commonv1.ReasonCancelled},
		"cancelled before a pod": {spec: cancelled, attempt: pendingAttempt, prosta: egov1.Cancelled,
			reason: commonv1.ReasonCancelled},
		"deleted": {pod: edits(phase(corev1.PodFailed, ""), deleting, exited(143, "Error", "")), prosta: egov1.Failed,
			reason: commonv1.ReasonPodDeleted, exit: ptr.To[int32](143), signal: ptr.To[int32](15)},
		"deleted before a node": {pod: edits(deleting), prosta: egov1.Failed, reason: commonv1.ReasonPodDeleted},
		"gone":                  {prosta: egov1.Lost, reason: commonv1.ReasonPodGone},
		"replaced":              {pod: edits(otherUID), prosta: egov1.Lost, reason: commonv1.ReasonPodGone},
		"turned away": {pod: edits(phase(corev1.PodFailed, "OutOfcpu"), refusedAfter(time.Second)), prosta: egov1.Failed,
			reason: "OutOfcpu"},
		"turned away, it may have run": {pod: edits(phase(corev1.PodFailed, "OutOfcpu"), refusedAfter(time.Minute)), prosta: egov1.Lost,
			reason: commonv1.ReasonNodeLost},
		"turned away, it is not known when": {pod: edits(phase(corev1.PodFailed, "OutOfcpu")), prosta: egov1.Lost,
			reason: commonv1.ReasonNodeLost},
		"turned away, seen to run": {attempt: runningAttempt, pod: edits(phase(corev1.PodFailed, "OutOfcpu"), refusedAfter(time.Second)),
			prosta: egov1.Lost, reason: commonv1.ReasonNodeLost},
		"evicted while it waited": {pod: edits(phase(corev1.PodFailed, "Evicted"), unstarted), prosta: egov1.Failed, reason: "Evicted"},
		"evicted": {pod: edits(phase(corev1.PodFailed, "Evicted"), exited(137, "Error", "")), prosta: egov1.Failed,
			reason: "Evicted", exit: ptr.To[int32](137), signal: ptr.To[int32](9)},
		"given up with its node": {pod: edits(phase(corev1.PodFailed, ""), deleting, runs), prosta: egov1.Lost,
			reason: commonv1.ReasonNodeLost},
		"given up, never seen to run": {pod: edits(phase(corev1.PodFailed, ""), deleting), prosta: egov1.Lost,
			reason: commonv1.ReasonNodeLost},
		"evicted, seen to run": {attempt: runningAttempt, pod: edits(phase(corev1.PodFailed, "Evicted")), prosta: egov1.Lost,
			reason: commonv1.ReasonNodeLost},
		"out of the kubelet's sight": {pod: edits(phase(corev1.PodFailed, ""), exited(137, reasonStatusUnknown, "")), prosta: egov1.Lost,
			reason: commonv1.ReasonNodeLost},
		"started twice": {pod: edits(phase(corev1.PodFailed, ""),
			exited(guard.ExitRefused, "Error", guard.StartedBefore+"\n")), prosta: egov1.Lost, reason: commonv1.ReasonStartedTwice},
		"guard could not write": {pod: edits(phase(corev1.PodFailed, ""),
			exited(guard.ExitRefused, "Error", guard.StartFileNotWritten+
				"\n")), prosta: egov1.Failed, reason: commonv1.ReasonNotStarted, exit: ptr.To[int32](guard.ExitRefused)},

		"no guard came": {attempt: guardedAttempt,
			pod: edits(phase(corev1.PodFailed, ""), unstarted, guardEnded(128, "StartError", "exec format error")), prosta: egov1.Failed,
			reason: commonv1.ReasonNotStarted},
		"no guard came, evicted": {attempt: guardedAttempt,
			pod: edits(phase(corev1.PodFailed, "Evicted"), unstarted, guardEnded(137, "Error", "")), prosta: egov1.Failed, reason: "Evicted"},
		"no guard came, deleted": {attempt: guardedAttempt,
			pod: edits(phase(corev1.PodFailed, ""), unstarted, guardEnded(137, "Error", ""), deleting), prosta: egov1.Failed,
			reason: commonv1.ReasonPodDeleted},
		"no guard came, cancelled": {spec: cancelled, attempt: guardedAttempt,
			pod: edits(phase(corev1.PodFailed, ""), unstarted, guardEnded(137, "Error", ""), deleting), prosta: egov1.Cancelled,
			reason: commonv1.ReasonCancelled},
		"no guard came, too late": {spec: tooLate, attempt: guardedAttempt,
			pod: edits(phase(corev1.PodFailed, ""), unstarted, guardEnded(137, "Error", ""), deleting), prosta: egov1.Failed,
			reason: commonv1.ReasonStartDeadlineExceeded},
		"brought again after the start": {attempt: guardedAttempt,
			pod: edits(phase(corev1.PodFailed, ""), unstarted, guardEnded(guard.ExitRefused, "Error", guard.StartedBefore)), prosta: egov1.Lost,
			reason: commonv1.ReasonStartedTwice},
		"the guard is not brought again, but was seen to run": {attempt: ranBrought,
			pod: edits(phase(corev1.PodFailed, ""), unstarted, guardEnded(128, "StartError", "")), prosta: egov1.Lost,
			reason: commonv1.ReasonStartedTwice},
		"the guard out of sight": {attempt: guardedAttempt,
			pod: edits(phase(corev1.PodFailed, ""), unstarted, guardEnded(137, reasonStatusUnknown, "")), prosta: egov1.Lost,
			reason: commonv1.ReasonNodeLost},
		"out of sight behind its guard": {attempt: guardedAttempt,
			pod: edits(phase(corev1.PodFailed, ""), exited(137, reasonStatusUnknown, ""), guardEnded(0, "Completed", "")), prosta: egov1.Lost,
			reason: commonv1.ReasonNodeLost},
		"exit 127 behind its guard": {attempt: guardedAttempt,
			pod:    edits(phase(corev1.PodFailed, ""), exited(127, "Error", "mainstay: command: x is in no folder"), guardEnded(0, "Completed", "")),
			prosta: egov1.Failed, reason: commonv1.ReasonExited, exit: ptr.To[int32](127)},

		"too late for a pod": {spec: tooLate, attempt: pendingAttempt, prosta: egov1.Failed,
			reason: commonv1.ReasonStartDeadlineExceeded},
		"too late for a node": {spec: tooLate, pod: edits(deleting), prosta: egov1.Failed, reason: commonv1.ReasonStartDeadlineExceeded},
		"too late on its node": {spec: tooLate, pod: edits(phase(corev1.PodFailed, ""), deleting, exited(137, reasonStatusUnknown, "")),
			prosta: egov1.Failed, reason: commonv1.ReasonStartDeadlineExceeded},
		"started after the deadline": {spec: tooLate, pod: edits(phase(corev1.PodFailed, ""), deleting, exited(143, "Error", "")),
			prosta: egov1.Failed, reason: commonv1.ReasonStartDeadlineExceeded, exit: ptr.To[int32](143), signal: ptr.To[int32](15)},
		"started before, deleted": {spec: inTime, pod: edits(phase(corev1.PodFailed, ""), deleting, exited(143, "Error", "")),
			prosta: egov1.Failed, reason: commonv1.ReasonPodDeleted, exit: ptr.To[int32](143), signal: ptr.To[int32](15)},
		"too late, ended well": {spec: tooLate, pod: edits(phase(corev1.PodSucceeded, ""), deleting, exited(0, "Completed", "")),
			prosta: egov1.Succeeded, reason: commonv1.ReasonExited, exit: ptr.To[int32](0)},
		"too late, lost with its node": {spec: tooLate, pod: edits(phase(corev1.PodFailed, ""), deleting, givenUp), prosta: egov1.Lost,
			reason: commonv1.ReasonNodeLost},
		"too late and gone": {spec: tooLate, prosta: egov1.Lost, reason: commonv1.ReasonPodGone},
		"too late and cancelled": {spec: egov1.ActivitySpec{Cancel: true, StartDeadline: &metav1.Duration{}}, attempt: pendingAttempt,
			prosta: egov1.Cancelled, reason: commonv1.ReasonCancelled},
		"never came to life": {pod: edits(phase(corev1.PodFailed, ""), neverLived), prosta: egov1.Failed, reason: "StartError",
			exit: ptr.To[int32](128)},
	} {
		t.Run(name, func(t *testing.T) {
			if c.attempt.Prosta == "" {
				c.attempt = adoptedAttempt
			}
			a := activityWith(c.spec, c.attempt)
			var p *corev1.Pod
			if c.pod != nil {
				p = pod(a, c.pod...)
			}
			setResult(a, p, testTime)
			updateStatus(a, p)
			got := a.Status
			if got.Prosta != c.prosta || got.Reason != c.reason || got.FinishTime == nil || got.Message == "" {
				t.Errorf("got %s, %s: %q, finished %v", got.Prosta, got.Reason, got.Message, got.FinishTime)
			}
			if ptr.Deref(got.ExitCode, -1) != ptr.Deref(c.exit, -1) || ptr.Deref(got.Signal, -1) != ptr.Deref(c.signal, -1) {
				t.Errorf("got exit code %v, signal %v", got.ExitCode, got.Signal)
			}
			if got.Duration != nil && got.Duration.Duration > time.Hour {
				t.Errorf("it lasted %v", got.Duration)
			}
		})
	}
}

// TestANodesClockDelaysNothing has a node that is an hour ahead of the operator.
func TestANodesClockDelaysNothing(t *testing.T) {
	later := metav1.NewTime(testTime.Add(time.Hour))
	a := activityWith(egov1.ActivitySpec{}, adoptedAttempt)
	p := pod(a, phase(corev1.PodFailed, ""), state(corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", StartedAt: later, FinishedAt: later}}))
	setResult(a, p, testTime)
	updateStatus(a, p)
	if got := a.Status; !got.FinishTime.Equal(&testTime) || got.Duration.Duration != 0 {
		t.Errorf("it finished at %v after %v", got.FinishTime, got.Duration)
	}
}
