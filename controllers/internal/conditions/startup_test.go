package conditions

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

func TestFirstStartupWait(t *testing.T) {
	waits := func(name, reason string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}
	}
	runs := func(name string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, Started: ptr.To(true), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	}
	of := func(statuses ...corev1.ContainerStatus) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: statuses}
	}
	is := func(conditionType corev1.PodConditionType, s corev1.PodStatus) corev1.PodStatus {
		s.Conditions = append(s.Conditions, corev1.PodCondition{Type: conditionType, Status: corev1.ConditionTrue})
		return s
	}
	after := func(before, s corev1.PodStatus) corev1.PodStatus {
		s.InitContainerStatuses = before.ContainerStatuses
		return s
	}
	probed := func(name string, ask corev1.ProbeHandler) corev1.Container {
		return corev1.Container{Name: name, ReadinessProbe: &corev1.Probe{ProbeHandler: ask}}
	}
	slow := probed("slow", corev1.ProbeHandler{})
	slow.StartupProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 7}}}
	starts := runs("slow")
	starts.Started = ptr.To(false)
	answers := runs("tcp")
	answers.Ready = true
	spec := corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "first"}, {Name: "sidecar", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)}},
		Containers: []corev1.Container{
			probed("tcp", corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("web")}}),
			probed("http", corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/up", Port: intstr.FromInt32(80)}}),
			probed("exec", corev1.ProbeHandler{Exec: &corev1.ExecAction{}}),
			slow, {Name: "plain"},
		},
	}
	const elsewhere = "pod a: its volumes or its network are not there yet; what the volumes name must exist"
	for _, c := range []struct {
		reason string
		status corev1.PodStatus
		says   string
	}{
		{"no node has it", corev1.PodStatus{}, ""},
		{"waits for a volume", of(waits("tcp", "ContainerCreating")), elsewhere},
		{"waits for a volume, before the init container", after(of(waits("first", "PodInitializing")), of(waits("tcp", "PodInitializing"))),
			elsewhere},
		{"pulls", is(corev1.PodReadyToStartContainers, of(waits("tcp", "ContainerCreating"))), "pod a: container tcp: its image is being pulled"},
		{"an init container runs", after(of(runs("first")), of(waits("tcp", "PodInitializing"))),
			"pod a: container first runs, and the others wait for its end"},
		{"a sidecar runs", after(of(runs("sidecar")), is(corev1.PodReadyToStartContainers, of(waits("tcp", "PodInitializing")))),
			"pod a: container tcp: its image is being pulled"},
		{"nothing listens", of(runs("tcp")), "pod a: container tcp runs, but its readiness probe (TCP port web) does not succeed"},
		{"the second one", of(answers, runs("http")),
			"pod a: container http runs, but its readiness probe (GET /up on port 80) does not succeed"},
		{"a command", of(runs("exec")), "pod a: container exec runs, but its readiness probe (a command) does not succeed"},
		{"starts slowly", of(starts), "pod a: container slow runs, but its startup probe (gRPC on port 7) does not succeed"},
		{"nothing is asked", of(runs("plain")), ""},
		{"has stopped", of(corev1.ContainerStatus{Name: "tcp", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}),
			""},
		{"is ready", is(corev1.PodReady, of(runs("tcp"))), ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			pods := []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: spec, Status: c.status}}
			if got := FirstStartupWait(pods); got != c.says {
				t.Errorf("says %q, not %q", got, c.says)
			}
		})
	}
}
