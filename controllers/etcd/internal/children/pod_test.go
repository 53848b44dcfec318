package children

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher"
)

func TestLostDataOfAPod(t *testing.T) {
	ended := func(code int32, message string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message}}
	}
	lost, failed := ended(launcher.ExitDataLost, launcher.DataLost+"d1"), ended(1, "")
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	for _, c := range []struct {
		name    string
		now     corev1.ContainerState
		before  corev1.ContainerState
		started bool
		want    string
	}{
		{name: "it has just ended", now: lost, want: "d1"},
		{name: "it waits to be started again", now: waiting, before: lost, want: "d1"},
		{name: "it was started again and has not found it yet", now: running, before: lost, want: "d1"},
		{name: "a server started since", now: running, before: lost, started: true},
		{name: "a later start has found it", now: failed, before: lost},
		{name: "it ended for another reason", now: waiting, before: failed},
		{name: "it runs for the first time", now: running},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
				{Name: "other", State: lost},
				{Name: config.AppName, State: c.now, LastTerminationState: c.before, Started: ptr.To(c.started)},
			}}}
			if got := ReadPod(pod, &appsv1.StatefulSet{}).LostData; got != c.want {
				t.Errorf("lost: %q", got)
			}
		})
	}
}

func TestAnEarlierStateOfAPod(t *testing.T) {
	const message = "mainstay: the data is an earlier state: the log of d1 ends at entry 40 of term 2, and had entry 90 of term 3"
	for _, c := range []struct {
		name    string
		ended   corev1.ContainerStateTerminated
		started bool
		want    string
	}{
		{"the launcher reports where the log ends", corev1.ContainerStateTerminated{ExitCode: launcher.ExitEarlierState, Message: message}, false,
			"d1 entry 40 of term 2"},
		{"nothing once a server has started", corev1.ContainerStateTerminated{ExitCode: launcher.ExitEarlierState, Message: message}, true,
			" <nil>"},
		{"nothing if it ended otherwise", corev1.ContainerStateTerminated{ExitCode: 1, Message: message}, false, " <nil>"},
		{"nothing if the message has no end", corev1.ContainerStateTerminated{ExitCode: launcher.ExitEarlierState, Message: "d1"}, false,
			" <nil>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
				{Name: config.AppName, LastTerminationState: corev1.ContainerState{Terminated: &c.ended}, Started: &c.started},
			}}}
			if p := ReadPod(pod, &appsv1.StatefulSet{}); fmt.Sprint(p.LostData, " ", p.Earlier) != c.want {
				t.Errorf("got %s %s", p.LostData, p.Earlier)
			}
		})
	}
}

func TestARecoveryThatEndedBelowWhatWasAllowed(t *testing.T) {
	for _, c := range []struct {
		name    string
		ended   corev1.ContainerStateTerminated
		started bool
		want    int64
	}{
		{"the launcher reports the revision",
			corev1.ContainerStateTerminated{ExitCode: launcher.ExitBelowAllowed, Message: launcher.BelowAllowed + "70"},
			false, 70},
		{"a server that has started since has not ended there",
			corev1.ContainerStateTerminated{ExitCode: launcher.ExitBelowAllowed, Message: launcher.BelowAllowed + "70"},
			true, 0},
		{"a message without a revision is none",
			corev1.ContainerStateTerminated{ExitCode: launcher.ExitBelowAllowed, Message: "x"}, false, 0},
		{"a launcher that ended for another reason reports none",
			corev1.ContainerStateTerminated{ExitCode: 1, Message: launcher.BelowAllowed + "70"}, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
				{Name: config.AppName, LastTerminationState: corev1.ContainerState{Terminated: &c.ended}, Started: &c.started},
			}}}
			if got := ReadPod(pod, &appsv1.StatefulSet{}).RecoveredTo; got != c.want {
				t.Errorf("got %d", got)
			}
		})
	}
}

// A pod whose image is still being pulled does not fail: its cluster forms once that has ended.
func TestAPodFailsOnceKubernetesReportsWhy(t *testing.T) {
	waits := func(reason string) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
			{Name: config.AppName, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}}}
	}
	for _, c := range []struct {
		name   string
		status corev1.PodStatus
		want   bool
	}{
		{"nothing is reported yet", corev1.PodStatus{}, false},
		{"its image is being pulled", waits("ContainerCreating"), false},
		{"an init container runs", waits("PodInitializing"), false},
		{"its image cannot be pulled", waits("ErrImagePull"), true},
		{"no node fits", corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := ReadPod(&corev1.Pod{Status: c.status}, &appsv1.StatefulSet{}).Fails; got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestAMemberSaysWhyItDoesNotStart(t *testing.T) {
	started := true
	ended := &corev1.ContainerStateTerminated{ExitCode: launcher.ExitUnusable, Message: launcher.Unusable + "no room"}
	foreign := &corev1.ContainerStateTerminated{ExitCode: launcher.ExitForeign, Message: launcher.Foreign + "x"}
	for _, c := range []struct {
		name   string
		status corev1.ContainerStatus
		ended  *corev1.ContainerStateTerminated
		want   string
		// foreign is what it says of the data of another cluster.
		foreign string
	}{
		{"why", corev1.ContainerStatus{}, ended, "no room", ""},
		{"nothing once it has started", corev1.ContainerStatus{Started: &started}, ended, "", ""},
		{"nothing if it ended otherwise", corev1.ContainerStatus{}, &corev1.ContainerStateTerminated{ExitCode: launcher.ExitDataLost}, "", ""},
		{"nothing if it has not ended", corev1.ContainerStatus{}, nil, "", ""},
		{"a volume has the data of another cluster", corev1.ContainerStatus{}, foreign, "", "x"},
		{"the data of another cluster is not reported once it has started", corev1.ContainerStatus{Started: &started}, foreign, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.status.Name, c.status.State.Terminated = config.AppName, c.ended
			pod := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{c.status}}}
			if got := ReadPod(pod, &appsv1.StatefulSet{}); got.Unusable != c.want || got.Foreign != c.foreign {
				t.Errorf("got %q, %q", got.Unusable, got.Foreign)
			}
		})
	}
}

func TestTheQuotaThatAPodRunsWith(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		want int64
	}{
		{"a pod whose arguments name a quota", []string{"/usr/local/bin/etcd", "--quota-backend-bytes=1000"}, 1000},
		{"a pod whose arguments name none", []string{"/usr/local/bin/etcd"}, 0},
		{"a pod whose quota is no number of bytes", []string{"--quota-backend-bytes=1Gi"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "other"}, {Name: config.AppName, Args: c.args}}}}
			if got := ReadPod(pod, &appsv1.StatefulSet{}).Quota; got != c.want {
				t.Errorf("got %d", got)
			}
		})
	}
}

// A webhook that has pods pull from a mirror must not make each new pod look like one of an earlier version.
func TestTheImageOfAPodThatAWebhookHasChanged(t *testing.T) {
	made := func(image, revision string) corev1.Pod {
		pod := corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: config.AppName, Image: image}}}}
		pod.Labels = map[string]string{appsv1.ControllerRevisionHashLabelKey: revision}
		return pod
	}
	for _, c := range []struct {
		name     string
		revision string
		observed int64
		want     string
	}{
		{"it is of the latest template", "r2", 2, "etcd:2"},
		{"it is of an earlier one", "r1", 2, "mirror/etcd"},
		{"which one is the latest is not known", "r2", 1, "mirror/etcd"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod, set := made("mirror/etcd", c.revision), &appsv1.StatefulSet{}
			set.Generation, set.Status.ObservedGeneration, set.Status.UpdateRevision = 2, c.observed, "r2"
			set.Spec.Template.Spec = made("etcd:2", "").Spec
			if got := ReadPod(&pod, set).Image; got != c.want {
				t.Errorf("got %q", got)
			}
		})
	}
}
