package children

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
)

// Only the end of the server's own container is evidence. A node that is cut off
// takes a pod's readiness away, and says nothing of the process.
func TestWhatAPodProves(t *testing.T) {
	running, ended := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	for _, c := range []struct {
		reason string
		status corev1.ContainerStatus
		ready  corev1.ConditionStatus
		want   bool
	}{
		{"it runs", corev1.ContainerStatus{Name: config.AppName, State: running}, corev1.ConditionTrue, false},
		{"its node is cut off", corev1.ContainerStatus{Name: config.AppName, State: running}, corev1.ConditionFalse, false},
		{"it ended", corev1.ContainerStatus{Name: config.AppName, State: ended}, corev1.ConditionTrue, true},
		{"it ended and waits to be started again", corev1.ContainerStatus{Name: config.AppName, State: waiting, LastTerminationState: ended},
			corev1.ConditionFalse, true},
		{"it was never started", corev1.ContainerStatus{Name: config.AppName, State: waiting}, corev1.ConditionFalse, false},
		{"another container ended", corev1.ContainerStatus{Name: "sidecar", State: ended}, corev1.ConditionFalse, false},
	} {
		pod := corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{c.status},
			Conditions: []corev1.PodCondition{{Type: corev1.ContainersReady, Status: c.ready}, {Type: corev1.PodReady, Status: c.ready}}}}
		if got := NodeOf(&pod, &appsv1.StatefulSet{}, time.Now()).Stopped; got != c.want {
			t.Errorf("%s: stopped %t", c.reason, got)
		}
	}
}

// A pod without a node, or whose container waits for its first start, has run no server.
func TestWhichPodsHaveNotStarted(t *testing.T) {
	running, ended := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
	for _, c := range []struct {
		reason, node string
		statuses     []corev1.ContainerStatus
		want         bool
	}{
		{"it has no node", "", nil, true},
		{"its node has reported nothing", "node-1", nil, false},
		{"its image is not there", "node-1", []corev1.ContainerStatus{{Name: config.AppName, State: waiting}}, true},
		{"it waits for a restart", "node-1",
			[]corev1.ContainerStatus{{Name: config.AppName, State: waiting, LastTerminationState: ended}}, false},
		{"it runs", "node-1", []corev1.ContainerStatus{{Name: config.AppName, State: running}}, false},
		{"another container waits", "node-1", []corev1.ContainerStatus{{Name: "sidecar", State: waiting}}, false},
	} {
		pod := corev1.Pod{Spec: corev1.PodSpec{NodeName: c.node}, Status: corev1.PodStatus{ContainerStatuses: c.statuses}}
		t.Run(c.reason, func(t *testing.T) {
			if got := NodeOf(&pod, &appsv1.StatefulSet{}, time.Now()).NotStarted; got != c.want {
				t.Errorf("not started: %t", got)
			}
		})
	}
}

// Its endpoint moves when a pod becomes ready, and soon will when it is new.
func TestWhoIsArriving(t *testing.T) {
	ago := func(d time.Duration) metav1.Time { return metav1.NewTime(time.Now().Add(-d)) }
	for _, c := range []struct {
		reason string
		ready  corev1.ConditionStatus
		since  time.Duration
		age    time.Duration
		want   bool
	}{
		{"just ready", corev1.ConditionTrue, time.Second, time.Minute, true},
		{"ready for a while", corev1.ConditionTrue, time.Minute, time.Minute, false},
		{"new", corev1.ConditionFalse, time.Second, time.Second, true},
		{"old, and not ready", corev1.ConditionFalse, time.Second, time.Minute, false},
	} {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: ago(c.age)}, Status: corev1.PodStatus{
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: c.ready, LastTransitionTime: ago(c.since)}}}}
		if got := NodeOf(&pod, &appsv1.StatefulSet{}, time.Now()).EndpointChanging; got != c.want {
			t.Errorf("%s: arriving %t", c.reason, got)
		}
	}
}
