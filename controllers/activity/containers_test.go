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

// withSidecar puts a container in that state next to the command's.
func withSidecar(s corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers = append(p.Spec.Containers, sidecar)
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: sidecar.Name, State: s})
	}
}

// withInitContainer puts an init container in that state before the command's; one that restarts always is a sidecar.
func withInitContainer(restart *corev1.ContainerRestartPolicy, s corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: "before", RestartPolicy: restart})
		p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, corev1.ContainerStatus{Name: "before", State: s})
	}
}

// endedAt sets the end of the command, so long after its pod started.
func endedAt(after time.Duration, code int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		exited(code, "Error", "")(p)
		p.Status.StartTime = &testTime
		p.Status.ContainerStatuses[0].State.Terminated.FinishedAt = metav1.NewTime(testTime.Add(after))
	}
}

// restartedContainer sets the state of a container whose previous start ended so.
func restartedContainer(count int32, last corev1.ContainerStateTerminated, now corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: appName, RestartCount: count, State: now,
			LastTerminationState: corev1.ContainerState{Terminated: &last}}}
	}
}

func markedBy(id, now string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, annotationStartMark, id)
		p.Status.ContainerStatuses[0].ContainerID = now
	}
}

// TestWithSidecars checks that what becomes of an attempt, and then of its pod, depends on how the
// command's container ended, whatever other containers do.
func TestWithSidecars(t *testing.T) {
	always := ptr.To(corev1.ContainerRestartPolicyAlways)
	minute := egov1.ActivitySpec{Timeout: &metav1.Duration{Duration: time.Minute}}
	runs := state(sidecarRunning)
	ok, bad := exited(0, "Completed", ""), exited(3, "Error", "")
	killed := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "Error", StartedAt: testTime,
		FinishedAt: testTime}}
	broke := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}}
	waits := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	refused := corev1.ContainerStateTerminated{ExitCode: guard.ExitRefused, Reason: "Error", Message: guard.StartedBefore}
	three := corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error", StartedAt: testTime, FinishedAt: testTime}
	lost := corev1.ContainerStateTerminated{ExitCode: 137, Reason: reasonStatusUnknown}
	debugged := func(p *corev1.Pod) {
		p.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{{Name: "debugger", State: sidecarRunning}}
	}
	seenToRun := adoptedAttempt
	seenToRun.StartTime = &testTime
	const continues = egov1.ProcessState("") // the attempt
	for name, c := range map[string]struct {
		spec    egov1.ActivitySpec
		attempt egov1.Attempt
		pod     []func(*corev1.Pod)
		prosta  egov1.ProcessState
		reason  string
		exit    *int32
		then    verdict
	}{
		"both run":               {pod: edits(phase(corev1.PodRunning, ""), runs, withSidecar(sidecarRunning))},
		"the other ended first":  {pod: edits(phase(corev1.PodRunning, ""), runs, withSidecar(sidecarEnded))},
		"the other failed first": {pod: edits(phase(corev1.PodRunning, ""), runs, withSidecar(sidecarFailed))},
		"ended, the other continues": {pod: edits(phase(corev1.PodRunning, ""), ok, withSidecar(sidecarRunning)),
			prosta: egov1.Succeeded, reason: commonv1.ReasonExited, exit: ptr.To[int32](0), then: verdictDiscard},
		"failed, the other continues": {pod: edits(phase(corev1.PodRunning, ""), bad, withSidecar(sidecarRunning)), prosta: egov1.Failed,
			reason: commonv1.ReasonExited, exit: ptr.To[int32](3), then: verdictDiscard},
		"ended, the other never starts": {pod: edits(phase(corev1.PodPending, ""), ok, withSidecar(waits)), prosta: egov1.Succeeded,
			reason: commonv1.ReasonExited, exit: ptr.To[int32](0), then: verdictDiscard},
		"ended, the other is unknown": {pod: edits(phase(corev1.PodRunning, ""), ok, withSidecar(corev1.ContainerState{})),
			prosta: egov1.Succeeded, reason: commonv1.ReasonExited, exit: ptr.To[int32](0), then: verdictDiscard},
		"ended, the other goes": {pod: edits(phase(corev1.PodRunning, ""), ok, withSidecar(sidecarRunning), deleting),
			prosta: egov1.Succeeded, reason: commonv1.ReasonExited, exit: ptr.To[int32](0), then: verdictRelease},
		"ended, the other failed": {pod: edits(phase(corev1.PodFailed, ""), ok, withSidecar(sidecarFailed)), prosta: egov1.Succeeded,
			reason: commonv1.ReasonExited, exit: ptr.To[int32](0), then: verdictRelease},
		"failed, the other ended": {pod: edits(phase(corev1.PodFailed, ""), bad, withSidecar(sidecarEnded)), prosta: egov1.Failed,
			reason: commonv1.ReasonExited, exit: ptr.To[int32](3), then: verdictRelease},
		"all ended, the phase is to come":    {pod: edits(phase(corev1.PodRunning, ""), bad, withSidecar(sidecarEnded))},
		"ended, no other, the phase to come": {pod: edits(phase(corev1.PodRunning, ""), bad)},
		"ended next to a sidecar": {pod: edits(phase(corev1.PodRunning, ""), bad, withInitContainer(always, sidecarRunning)),
			prosta: egov1.Failed, reason: commonv1.ReasonExited, exit: ptr.To[int32](3), then: verdictKeep},
		"ended, and then its sidecar": {pod: edits(phase(corev1.PodSucceeded, ""), ok, withInitContainer(always, killed)),
			prosta: egov1.Succeeded, reason: commonv1.ReasonExited, exit: ptr.To[int32](0), then: verdictRelease},
		"ended next to a debugger": {pod: edits(phase(corev1.PodRunning, ""), ok, debugged), prosta: egov1.Succeeded,
			reason: commonv1.ReasonExited, exit: ptr.To[int32](0), then: verdictKeep},
		"cancelled after its end": {spec: egov1.ActivitySpec{Cancel: true},
			pod: edits(phase(corev1.PodRunning, ""), bad, withSidecar(sidecarRunning)), prosta: egov1.Failed, reason: commonv1.ReasonExited,
			exit: ptr.To[int32](3), then: verdictDiscard},
		"evicted after its end": {pod: edits(phase(corev1.PodFailed, "Evicted"), ok, withSidecar(killed)), prosta: egov1.Succeeded,
			reason: commonv1.ReasonExited, exit: ptr.To[int32](0), then: verdictRelease},
		"out of sight next to one that runs": {pod: edits(phase(corev1.PodRunning, ""), state(corev1.ContainerState{Terminated: &lost}),
			withSidecar(sidecarRunning))},
		"timed out after it succeeded": {spec: minute,
			pod:    edits(phase(corev1.PodFailed, commonv1.ReasonDeadlineExceeded), endedAt(59*time.Second, 0), withSidecar(killed)),
			prosta: egov1.Succeeded, reason: commonv1.ReasonExited, exit: ptr.To[int32](0), then: verdictRelease},
		"timed out after it failed": {spec: minute,
			pod:    edits(phase(corev1.PodFailed, commonv1.ReasonDeadlineExceeded), endedAt(59*time.Second, 3), withSidecar(killed)),
			prosta: egov1.Failed, reason: commonv1.ReasonExited, exit: ptr.To[int32](3), then: verdictRelease},
		"timed out": {spec: minute,
			pod:    edits(phase(corev1.PodFailed, commonv1.ReasonDeadlineExceeded), endedAt(time.Minute, 143), withSidecar(killed)),
			prosta: egov1.TimedOut, reason: commonv1.ReasonDeadlineExceeded, exit: ptr.To[int32](143), then: verdictRelease},
		"timed out, ended well when asked": {spec: minute,
			pod:    edits(phase(corev1.PodFailed, commonv1.ReasonDeadlineExceeded), endedAt(time.Minute, 0), withSidecar(killed)),
			prosta: egov1.TimedOut, reason: commonv1.ReasonDeadlineExceeded, exit: ptr.To[int32](0), then: verdictRelease},
		"timed out, the other takes longer": {spec: minute,
			pod: edits(phase(corev1.PodRunning, ""), endedAt(time.Minute, 143), withSidecar(sidecarRunning)), prosta: egov1.TimedOut,
			reason: commonv1.ReasonDeadlineExceeded, exit: ptr.To[int32](143), then: verdictDiscard},
		"ended in time, the other continues": {spec: minute,
			pod: edits(phase(corev1.PodRunning, ""), endedAt(59*time.Second, 143), withSidecar(sidecarRunning)), prosta: egov1.Failed,
			reason: commonv1.ReasonExited, exit: ptr.To[int32](143), then: verdictDiscard},
		"too quick for its timeout": {spec: minute, pod: edits(phase(corev1.PodFailed, ""), endedAt(time.Minute, 3)),
			prosta: egov1.Failed, reason: commonv1.ReasonExited, exit: ptr.To[int32](3), then: verdictRelease},
		"an init container failed": {pod: edits(phase(corev1.PodFailed, ""), unstarted, withInitContainer(nil, broke)),
			prosta: egov1.Failed, reason: commonv1.ReasonNotStarted, then: verdictRelease},
		"an init container failed, evicted": {pod: edits(phase(corev1.PodFailed, "Evicted"), unstarted, withInitContainer(nil, broke)),
			prosta: egov1.Failed, reason: "Evicted", then: verdictRelease},
		"an init container failed, it ran": {attempt: seenToRun,
			pod: edits(phase(corev1.PodFailed, ""), unstarted, withInitContainer(nil, broke)), prosta: egov1.Lost,
			reason: commonv1.ReasonStartedTwice, then: verdictRelease},
		"an init container failed, it may": {pod: edits(phase(corev1.PodFailed, ""), state(corev1.ContainerState{Terminated: &lost}),
			withInitContainer(nil, broke)), prosta: egov1.Lost, reason: commonv1.ReasonNodeLost, then: verdictRelease},
		"a sidecar was killed before it": {pod: edits(phase(corev1.PodFailed, ""), unstarted, withInitContainer(always, killed)),
			prosta: egov1.Lost, reason: commonv1.ReasonNodeLost, then: verdictRelease},
		"a sidecar does not start": {pod: edits(phase(corev1.PodPending, ""), unstarted, withInitContainer(always, waits))},
		"refused, the first end is known": {pod: edits(phase(corev1.PodFailed, ""),
			restartedContainer(1, three, corev1.ContainerState{Terminated: &refused})),
			prosta: egov1.Failed, reason: commonv1.ReasonExited, exit: ptr.To[int32](3), then: verdictRelease},
		"started again by somebody's policy": {pod: edits(phase(corev1.PodRunning, ""), restartedContainer(1, three, sidecarRunning)),
			prosta: egov1.Failed, reason: commonv1.ReasonExited, exit: ptr.To[int32](3), then: verdictDiscard},
		"refused again and again": {pod: edits(phase(corev1.PodRunning, ""), restartedContainer(2, refused, waits)),
			prosta: egov1.Lost, reason: commonv1.ReasonStartedTwice, then: verdictDiscard},
		"a node that lost it restarts it": {pod: edits(phase(corev1.PodPending, ""), restartedContainer(1, lost, waits)), prosta: egov1.Lost,
			reason: commonv1.ReasonStartedTwice, then: verdictDiscard},
		"another container had all start": {pod: edits(phase(corev1.PodRunning, ""),
			restartedContainer(1, corev1.ContainerStateTerminated{ExitCode: 137, Reason: reasonRestartingAll},
				waits)), prosta: egov1.Lost, reason: commonv1.ReasonStartedTwice, then: verdictDiscard},
		"lost as it was deleted": {pod: edits(phase(corev1.PodRunning, ""), restartedContainer(0, lost, waits), deleting)},
		"runs as it was marked": {attempt: seenToRun,
			pod: edits(phase(corev1.PodRunning, ""), runs, markedBy("test://1", "test://1"))},
		"another container runs than marked": {attempt: seenToRun,
			pod: edits(phase(corev1.PodRunning, ""), runs, markedBy("test://1", "test://2")), prosta: egov1.Lost,
			reason: commonv1.ReasonStartedTwice, then: verdictDiscard},
		"another container ended than marked": {attempt: seenToRun,
			pod: edits(phase(corev1.PodSucceeded, ""), ok, markedBy("test://1", "test://2")), prosta: egov1.Lost,
			reason: commonv1.ReasonStartedTwice, then: verdictRelease},
	} {
		t.Run(name, func(t *testing.T) {
			if c.attempt.Prosta == "" {
				c.attempt = adoptedAttempt
			}
			a := activityWith(c.spec, c.attempt)
			p := pod(a, c.pod...)
			if nextStep(a, p, testTime.Time) != once.Save {
				if c.prosta != continues {
					t.Errorf("its end is not seen: %s", nextStep(a, p, testTime.Time))
				}
				return
			}
			setResult(a, p, testTime)
			updateStatus(a, p)
			if got := a.Status; got.Prosta != c.prosta || got.Reason != c.reason || got.Message == "" ||
				ptr.Deref(got.ExitCode, -1) != ptr.Deref(c.exit, -1) {
				t.Errorf("got %s, %s: %q, exit code %v", got.Prosta, got.Reason, got.Message, got.ExitCode)
			}
			if got := verdictFor(a, p); got != c.then {
				t.Errorf("its pod: got %d, want %d", got, c.then)
			}
		})
	}
}
