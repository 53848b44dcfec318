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
)

// beside puts a container in that state beside the command's.
func beside(s corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers = append(p.Spec.Containers, sidecar)
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: sidecar.Name, State: s})
	}
}

// before puts an init container in that state before the command's; one that restarts is a sidecar.
func before(restart *corev1.ContainerRestartPolicy, s corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: "before", RestartPolicy: restart})
		p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, corev1.ContainerStatus{Name: "before", State: s})
	}
}

// endedAt is the end of the command so long after its pod began.
func endedAt(after time.Duration, code int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		exited(code, "Error", "")(p)
		p.Status.StartTime = &epoch
		p.Status.ContainerStatuses[0].State.Terminated.FinishedAt = metav1.NewTime(epoch.Add(after))
	}
}

// startedAgain is a container whose start before ended so.
func startedAgain(count int32, last corev1.ContainerStateTerminated, now corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: kind, RestartCount: count, State: now,
			LastTerminationState: corev1.ContainerState{Terminated: &last}}}
	}
}

func markedBy(id, now string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, startMark, id)
		p.Status.ContainerStatuses[0].ContainerID = now
	}
}

// TestBesideOthers holds what becomes of an attempt, and then of its pod, against what its
// command's container came to.
func TestBesideOthers(t *testing.T) {
	always := ptr.To(corev1.ContainerRestartPolicyAlways)
	minute := egov1.ActivitySpec{Timeout: &metav1.Duration{Duration: time.Minute}}
	runs := state(goingOn)
	ok, bad := exited(0, "Completed", ""), exited(3, "Error", "")
	killed := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "Error", StartedAt: epoch, FinishedAt: epoch}}
	broke := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}}
	waits := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	refused := corev1.ContainerStateTerminated{ExitCode: guard.Refused, Reason: "Error", Message: guard.StartedBefore}
	three := corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error", StartedAt: epoch, FinishedAt: epoch}
	lost := corev1.ContainerStateTerminated{ExitCode: 137, Reason: unlocated}
	debugged := func(p *corev1.Pod) {
		p.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{{Name: "debugger", State: goingOn}}
	}
	seenToRun := known
	seenToRun.StartTime = &epoch
	const goesOn = egov1.ProcessState("") // the attempt
	for name, c := range map[string]struct {
		spec    egov1.ActivitySpec
		attempt egov1.Attempt
		pod     []func(*corev1.Pod)
		prosta  egov1.ProcessState
		reason  string
		exit    *int32
		then    verdict
	}{
		"both run":                            {pod: edits(phase(corev1.PodRunning, ""), runs, beside(goingOn))},
		"the other ended first":               {pod: edits(phase(corev1.PodRunning, ""), runs, beside(sidecarEnded))},
		"the other failed first":              {pod: edits(phase(corev1.PodRunning, ""), runs, beside(sidecarFailed))},
		"ended, the other goes on":            {pod: edits(phase(corev1.PodRunning, ""), ok, beside(goingOn)), prosta: egov1.Succeeded, reason: commonv1.ReasonExited, exit: ptr.To[int32](0), then: discard},
		"failed, the other goes on":           {pod: edits(phase(corev1.PodRunning, ""), bad, beside(goingOn)), prosta: egov1.Failed, reason: commonv1.ReasonExited, exit: ptr.To[int32](3), then: discard},
		"ended, the other never starts":       {pod: edits(phase(corev1.PodPending, ""), ok, beside(waits)), prosta: egov1.Succeeded, reason: commonv1.ReasonExited, exit: ptr.To[int32](0), then: discard},
		"ended, the other is unknown":         {pod: edits(phase(corev1.PodRunning, ""), ok, beside(corev1.ContainerState{})), prosta: egov1.Succeeded, reason: commonv1.ReasonExited, exit: ptr.To[int32](0), then: discard},
		"ended, the other goes":               {pod: edits(phase(corev1.PodRunning, ""), ok, beside(goingOn), deleting), prosta: egov1.Succeeded, reason: commonv1.ReasonExited, exit: ptr.To[int32](0), then: release},
		"ended, the other failed":             {pod: edits(phase(corev1.PodFailed, ""), ok, beside(sidecarFailed)), prosta: egov1.Succeeded, reason: commonv1.ReasonExited, exit: ptr.To[int32](0), then: release},
		"failed, the other ended":             {pod: edits(phase(corev1.PodFailed, ""), bad, beside(sidecarEnded)), prosta: egov1.Failed, reason: commonv1.ReasonExited, exit: ptr.To[int32](3), then: release},
		"all ended, the phase is to come":     {pod: edits(phase(corev1.PodRunning, ""), bad, beside(sidecarEnded))},
		"ended, no other, the phase to come":  {pod: edits(phase(corev1.PodRunning, ""), bad)},
		"ended beside a sidecar":              {pod: edits(phase(corev1.PodRunning, ""), bad, before(always, goingOn)), prosta: egov1.Failed, reason: commonv1.ReasonExited, exit: ptr.To[int32](3), then: keep},
		"ended, and then its sidecar":         {pod: edits(phase(corev1.PodSucceeded, ""), ok, before(always, killed)), prosta: egov1.Succeeded, reason: commonv1.ReasonExited, exit: ptr.To[int32](0), then: release},
		"ended beside a debugger":             {pod: edits(phase(corev1.PodRunning, ""), ok, debugged), prosta: egov1.Succeeded, reason: commonv1.ReasonExited, exit: ptr.To[int32](0), then: keep},
		"cancelled after its end":             {spec: egov1.ActivitySpec{Cancel: true}, pod: edits(phase(corev1.PodRunning, ""), bad, beside(goingOn)), prosta: egov1.Failed, reason: commonv1.ReasonExited, exit: ptr.To[int32](3), then: discard},
		"evicted after its end":               {pod: edits(phase(corev1.PodFailed, "Evicted"), ok, beside(killed)), prosta: egov1.Succeeded, reason: commonv1.ReasonExited, exit: ptr.To[int32](0), then: release},
		"out of sight beside one that runs":   {pod: edits(phase(corev1.PodRunning, ""), state(corev1.ContainerState{Terminated: &lost}), beside(goingOn))},
		"timed out after it succeeded":        {spec: minute, pod: edits(phase(corev1.PodFailed, commonv1.ReasonTimedOut), endedAt(59*time.Second, 0), beside(killed)), prosta: egov1.Succeeded, reason: commonv1.ReasonExited, exit: ptr.To[int32](0), then: release},
		"timed out after it failed":           {spec: minute, pod: edits(phase(corev1.PodFailed, commonv1.ReasonTimedOut), endedAt(59*time.Second, 3), beside(killed)), prosta: egov1.Failed, reason: commonv1.ReasonExited, exit: ptr.To[int32](3), then: release},
		"timed out":                           {spec: minute, pod: edits(phase(corev1.PodFailed, commonv1.ReasonTimedOut), endedAt(time.Minute, 143), beside(killed)), prosta: egov1.TimedOut, reason: commonv1.ReasonTimedOut, exit: ptr.To[int32](143), then: release},
		"timed out, ended well when told":     {spec: minute, pod: edits(phase(corev1.PodFailed, commonv1.ReasonTimedOut), endedAt(time.Minute, 0), beside(killed)), prosta: egov1.TimedOut, reason: commonv1.ReasonTimedOut, exit: ptr.To[int32](0), then: release},
		"timed out, the other takes longer":   {spec: minute, pod: edits(phase(corev1.PodRunning, ""), endedAt(time.Minute, 143), beside(goingOn)), prosta: egov1.TimedOut, reason: commonv1.ReasonTimedOut, exit: ptr.To[int32](143), then: discard},
		"ended in time, the other goes on":    {spec: minute, pod: edits(phase(corev1.PodRunning, ""), endedAt(59*time.Second, 143), beside(goingOn)), prosta: egov1.Failed, reason: commonv1.ReasonExited, exit: ptr.To[int32](143), then: discard},
		"too quick for its timeout":           {spec: minute, pod: edits(phase(corev1.PodFailed, ""), endedAt(time.Minute, 3)), prosta: egov1.Failed, reason: commonv1.ReasonExited, exit: ptr.To[int32](3), then: release},
		"an init container failed":            {pod: edits(phase(corev1.PodFailed, ""), unstarted, before(nil, broke)), prosta: egov1.Failed, reason: commonv1.ReasonNotStarted, then: release},
		"an init container failed, evicted":   {pod: edits(phase(corev1.PodFailed, "Evicted"), unstarted, before(nil, broke)), prosta: egov1.Failed, reason: "Evicted", then: release},
		"an init container failed, it ran":    {attempt: seenToRun, pod: edits(phase(corev1.PodFailed, ""), unstarted, before(nil, broke)), prosta: egov1.Lost, reason: commonv1.ReasonStartedTwice, then: release},
		"an init container failed, it may":    {pod: edits(phase(corev1.PodFailed, ""), state(corev1.ContainerState{Terminated: &lost}), before(nil, broke)), prosta: egov1.Lost, reason: commonv1.ReasonNodeLost, then: release},
		"a sidecar was killed before it":      {pod: edits(phase(corev1.PodFailed, ""), unstarted, before(always, killed)), prosta: egov1.Lost, reason: commonv1.ReasonNodeLost, then: release},
		"a sidecar does not start":            {pod: edits(phase(corev1.PodPending, ""), unstarted, before(always, waits))},
		"refused, the first end is known":     {pod: edits(phase(corev1.PodFailed, ""), startedAgain(1, three, corev1.ContainerState{Terminated: &refused})), prosta: egov1.Failed, reason: commonv1.ReasonExited, exit: ptr.To[int32](3), then: release},
		"started again by somebody's policy":  {pod: edits(phase(corev1.PodRunning, ""), startedAgain(1, three, goingOn)), prosta: egov1.Failed, reason: commonv1.ReasonExited, exit: ptr.To[int32](3), then: discard},
		"refused again and again":             {pod: edits(phase(corev1.PodRunning, ""), startedAgain(2, refused, waits)), prosta: egov1.Lost, reason: commonv1.ReasonStartedTwice, then: discard},
		"a node that lost it starts it anew":  {pod: edits(phase(corev1.PodPending, ""), startedAgain(1, lost, waits)), prosta: egov1.Lost, reason: commonv1.ReasonStartedTwice, then: discard},
		"another container had all begin":     {pod: edits(phase(corev1.PodRunning, ""), startedAgain(1, corev1.ContainerStateTerminated{ExitCode: 137, Reason: removed}, waits)), prosta: egov1.Lost, reason: commonv1.ReasonStartedTwice, then: discard},
		"lost as it was deleted":              {pod: edits(phase(corev1.PodRunning, ""), startedAgain(0, lost, waits), deleting)},
		"runs as it was marked":               {attempt: seenToRun, pod: edits(phase(corev1.PodRunning, ""), runs, markedBy("test://1", "test://1"))},
		"another container runs than marked":  {attempt: seenToRun, pod: edits(phase(corev1.PodRunning, ""), runs, markedBy("test://1", "test://2")), prosta: egov1.Lost, reason: commonv1.ReasonStartedTwice, then: discard},
		"another container ended than marked": {attempt: seenToRun, pod: edits(phase(corev1.PodSucceeded, ""), ok, markedBy("test://1", "test://2")), prosta: egov1.Lost, reason: commonv1.ReasonStartedTwice, then: release},
	} {
		t.Run(name, func(t *testing.T) {
			if c.attempt.Prosta == "" {
				c.attempt = known
			}
			a := having(c.spec, c.attempt)
			p := pod(a, c.pod...)
			if next(a, p, epoch.Time) != record {
				if c.prosta != goesOn {
					t.Errorf("its end is not seen: %s", next(a, p, epoch.Time))
				}
				return
			}
			conclude(a, p, epoch)
			report(a, p)
			if got := a.Status; got.Prosta != c.prosta || got.Reason != c.reason || got.Message == "" || ptr.Deref(got.ExitCode, -1) != ptr.Deref(c.exit, -1) {
				t.Errorf("got %s, %s: %q, exit code %v", got.Prosta, got.Reason, got.Message, got.ExitCode)
			}
			if got := judge(a, p); got != c.then {
				t.Errorf("its pod: got %d, want %d", got, c.then)
			}
		})
	}
}
