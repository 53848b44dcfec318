package redis

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
)

// A human who restores a backup reads in an event how many keys may be gone by now.
func TestARestoreReportsKeysThatMayHaveExpired(t *testing.T) {
	message := `{"keys":10,"expires":3,"item":{"name":"20260102T120000Z-89abcdef","size":1,"sha256":"` + strings.Repeat("a", 64) + `"}}`
	pod := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning,
		InitContainerStatuses: []corev1.ContainerStatus{ended("fetch", 0, message)}}}
	recorder := events.NewFakeRecorder(2)
	r := &Reconciler{Converger: converge.Converger{Events: recorder}}
	p := r.newPass(fixture.Sized(1), nil)
	p.Source = sourceFromPod(pod, present)
	p.reportSource()
	close(recorder.Events)
	var reported []string
	for event := range recorder.Events {
		reported = append(reported, event)
	}
	if len(reported) != 1 || !strings.HasPrefix(reported[0], "Normal KeysExpire 3 of the 10 keys in the backup of 2026-01-02T12:00:00Z") {
		t.Errorf("reported %q", reported)
	}
}
