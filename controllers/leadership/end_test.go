package leadership

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
)

const holder = "manager-a_1"

// end returns the state of a container that ended and left this termination message.
func end(message, reason string) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{Message: message, Reason: reason, ExitCode: 137}
}

func TestReportsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		now, before *corev1.ContainerStateTerminated
		want        bool
	}{
		"it runs":                              {},
		"it was killed":                        {now: end(holder, "Error"), want: true},
		"it ended well":                        {now: end(holder, "Completed"), want: true},
		"it had too much memory":               {now: end(holder, "OOMKilled"), want: true},
		"it was killed, another runs":          {before: end(holder, "Error"), want: true},
		"its runtime has lost sight of it":     {now: end(holder, "Unknown")},
		"lost sight of, another runs":          {before: end(holder, "Unknown")},
		"its end was not observed":             {now: &corev1.ContainerStateTerminated{Message: holder, Reason: "Error", ExitCode: 255}},
		"its kubelet has lost sight of it":     {now: end(holder, "ContainerStatusUnknown")},
		"it is the container after":            {before: end("manager-a_0", "Error")},
		"another of the same pod":              {now: end("manager-a_2", "Error"), before: end("manager-a_0", "Error")},
		"a container that took no part":        {now: end("", "Error")},
		"words that start alike":               {now: end(holder+"1", "Error")},
		"another one's words, and its own too": {now: end(holder+" "+"manager-a_0", "Error")},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
				{Name: "sidecar"},
				{Name: "manager", State: corev1.ContainerState{Terminated: c.now}, LastTerminationState: corev1.ContainerState{Terminated: c.before}},
			}}}
			if reportsEnd(pod, holder) != c.want {
				t.Errorf("its end is reported: %t", !c.want)
			}
		})
	}
}

func TestWriteTerminationMessage(t *testing.T) {
	lease := newLease(fake.NewClientset(), nil, "ns", identity("manager-a", "1"), DefaultTimes)
	path := filepath.Join(t.TempDir(), "termination-log")
	if err := lease.WriteTerminationMessage(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("where the kubelet made no file: %v", err)
	}
	if err := os.WriteFile(path, []byte("longer words of somebody else"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := lease.WriteTerminationMessage(path); err != nil {
		t.Fatal(err)
	}
	if words, err := os.ReadFile(path); err != nil || string(words) != holder {
		t.Errorf("%v: %q", err, words)
	}
	if podOf(holder) != "manager-a" {
		t.Errorf("its pod is %q", podOf(holder))
	}
}
