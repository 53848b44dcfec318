package conditions

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

func TestFirstFailure(t *testing.T) {
	waits := func(reason, message string) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: "c", Image: "i:1", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		}}}
	}
	crashes := waits("CrashLoopBackOff", "back-off 10s")
	crashes.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error"}
	ended := func(reason, message string) corev1.PodStatus {
		s := waits("CrashLoopBackOff", "back-off 10s")
		s.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 128, Reason: reason, Message: message}
		return s
	}
	again := func(ready corev1.ConditionStatus) corev1.PodStatus {
		s := crashes.DeepCopy()
		s.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, LastTransitionTime: metav1.Unix(60, 0)}}
		s.ContainerStatuses[0].RestartCount = 2
		s.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Unix(120, 0)}}
		return *s
	}
	initializes := corev1.PodStatus{InitContainerStatuses: waits("CreateContainerConfigError", "no secret").ContainerStatuses}
	for _, c := range []struct {
		reason string
		status corev1.PodStatus
		says   string
	}{
		{"runs", corev1.PodStatus{Phase: corev1.PodRunning}, ""},
		{"is being started", waits("ContainerCreating", ""), ""},
		{"no place", corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes"}}},
			"pod a: cannot be scheduled: 0/1 nodes"},
		{"gated, which is no failure", corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated}}}, ""},
		{"pulls in vain", waits("ErrImagePull", "not found"), `pod a: container c: image "i:1" cannot be pulled: not found`},
		{"pulls in vain and waits: the same words", waits("ImagePullBackOff", `Back-off pulling image "i:1": ErrImagePull: not found`),
			`pod a: container c: image "i:1" cannot be pulled: not found`},
		{"keeps stopping", crashes, "pod a: container c: keeps stopping: exit code 3 (Error)"},
		{"kept stopping and runs once more: the same words", again(corev1.ConditionFalse),
			"pod a: container c: keeps stopping: exit code 3 (Error)"},
		{"kept stopping and is ready again", again(corev1.ConditionTrue), ""},
		{"cannot start: the runtime's first line, without what changes each time",
			ended("StartError", "no \"x\" in /run/"+strings.Repeat("0a", 32)+"/rootfs\nmore"),
			`pod a: container c: keeps stopping: exit code 128 (StartError): no "x" in /run/…/rootfs`},
		{"cannot start: a long line", ended("StartError", strings.Repeat("é", 300)),
			"pod a: container c: keeps stopping: exit code 128 (StartError): " + strings.Repeat("é", 256)},
		{"keeps stopping with words of its own", ended("Error", "password: x"), "pod a: container c: keeps stopping: exit code 128 (Error)"},
		{"an init container", initializes, "pod a: container c: CreateContainerConfigError: no secret"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			pods := []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: c.status}}
			if got := FirstFailure(pods); got != c.says {
				t.Errorf("says %q, not %q", got, c.says)
			}
			pods[0].DeletionTimestamp = &metav1.Time{}
			pods[0].DeletionTimestamp.Time = pods[0].DeletionTimestamp.AddDate(2000, 0, 0)
			if got := FirstFailure(pods); got != "" {
				t.Errorf("a pod that is going says %q", got)
			}
		})
	}
}

// The kubelet reports the end of a log where the container's policy says so: those are a server's last words, and stay while it stops
// for the same cause.
func TestLastWords(t *testing.T) {
	const cause = "pod a: container c: keeps stopping: exit code 1 (Error)"
	stopped := func(policy corev1.TerminationMessagePolicy, said string) []corev1.Pod {
		return []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "a"},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", TerminationMessagePolicy: policy}}},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
				Name: "c", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: said}},
			}}}}}
	}
	fallback := corev1.TerminationMessageFallbackToLogsOnError
	if got := FirstFailure(stopped(corev1.TerminationMessageReadFile, "12:00 no\n")); got != cause {
		t.Errorf("a log that no one else may read: %q", got)
	}
	if got := FirstFailure(stopped(fallback, "")); got != cause {
		t.Errorf("it said nothing: %q", got)
	}
	var list []metav1.Condition
	for _, c := range []struct{ said, says string }{
		{"12:00 starting\n12:00 too many open files\x1b\n", cause + "; it last said: 12:00 too many open files?"},
		{"12:01 starting\n12:01 too many open files\n", cause + "; it last said: 12:00 too many open files?"},
	} {
		w := Workload{Generation: 1, ObservedGeneration: 1, Desired: 1, Failure: FirstFailure(stopped(fallback, c.said))}
		SetDegraded(&list, 1, w.PodFailing(list))
		if got := meta.FindStatusCondition(list, commonv1.ConditionDegraded).Message; got != c.says {
			t.Errorf("%q: says %q", c.said, got)
		}
	}
}

// A pod that nothing has proven yet fails by what its container does again and again, not by what it did once, or
// before it served.
func TestFirstFailureUntilProven(t *testing.T) {
	at := func(minute int) metav1.Time { return metav1.Unix(int64(60*minute), 0) }
	oom := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}}
	runs := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(10)}}
	unready := func(minute int) []corev1.PodCondition {
		return []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: at(minute)}}
	}
	for _, c := range []struct {
		reason   string
		state    corev1.ContainerState
		restarts int32
		ready    []corev1.PodCondition
		phase    corev1.PodPhase
		fails    bool
	}{
		{reason: "it runs once more", state: runs, restarts: 2, ready: unready(9), fails: true},
		{reason: "it has stopped once more", state: oom, restarts: 2, ready: unready(11), fails: true},
		{reason: "a first restart", state: runs, restarts: 1, ready: unready(9)},
		{reason: "it was ready as it runs now", state: runs, restarts: 2, ready: unready(11)},
		{reason: "the pod has ended", state: oom, restarts: 2, ready: unready(9), phase: corev1.PodFailed},
	} {
		pods := []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: corev1.PodStatus{
			Phase: c.phase, Conditions: c.ready,
			ContainerStatuses: []corev1.ContainerStatus{{Name: "c", State: c.state, LastTerminationState: oom, RestartCount: c.restarts}},
		}}}
		want := ""
		if c.fails {
			want = "pod a: container c: keeps stopping: exit code 137 (OOMKilled)"
		}
		if got := FirstFailureUntil(func(*corev1.Pod) bool { return false }, pods); got != want {
			t.Errorf("%s: says %q", c.reason, got)
		}
		if got := FirstFailureUntil(func(*corev1.Pod) bool { return true }, pods); got != "" {
			t.Errorf("%s, proven: says %q", c.reason, got)
		}
	}
}
