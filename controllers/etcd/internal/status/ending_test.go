package status

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
)

// end lets the container of a-2 end again and again with that exit code, after the member has run.
func (s *seen) end(code int32) {
	s.e.Spec.Storage = &databasev1alpha1.EtcdStorage{}
	s.silence(2)
	m := &s.w.Members[2]
	m.Record.Ran, m.Pod.Stopped, m.Pod.Ready, m.Pod.Fails = true, true, false, true
	ended := &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error"}
	s.pods = []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "a-2"}, Status: corev1.PodStatus{
		ContainerStatuses: []corev1.ContainerStatus{{Name: config.AppName, RestartCount: 3,
			State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			LastTerminationState: corev1.ContainerState{Terminated: ended}}}}}}
}

// A member that ends on its data again and again is named, with what a human can do about it.
func TestAMemberThatEndsOnItsData(t *testing.T) {
	const words = "a-2 has data and ends again and again: read why (kubectl logs a-2 -c etcd --previous), and fix that. " +
		"If its data is damaged, "
	reported := func(message string) map[string]string {
		return map[string]string{degraded: "True PodFailing " + message}
	}
	checkConditions(t, []row{
		{"a panic, and the others are healthy", func(s *seen) { s.end(2) },
			reported(words + "delete PersistentVolumeClaim data-a-2 and pod a-2: a majority of the other members is healthy, and the operator " +
				"replaces the member; pod a-2: container etcd: keeps stopping: exit code 2 (Error)")},
		{"a fatal error, and the others are healthy", func(s *seen) { s.end(1) }, reported(words + "delete PersistentVolumeClaim data-a-2")},
		{"a panic without storage", func(s *seen) { s.end(2); s.e.Spec.Storage = nil }, reported(words + "delete pod a-2: a majority")},
		{"a panic, and the others are no majority", func(s *seen) {
			s.end(2)
			s.silence(1)
			s.w.Listed = false
		}, reported(words +
			"no majority of the other members is healthy, so delete no PersistentVolumeClaim: restore a backup by an EtcdRestore; pod")},
		{"without a majority what is blocked says it, too", func(s *seen) {
			s.end(2)
			s.silence(1)
			s.w.Listed = false
			s.block(commonv1.ReasonNoQuorum)
		}, map[string]string{degraded: "True NoQuorum do this; " + words + "no majority"}},
		{"a lack of memory is none of the data", func(s *seen) { s.end(137) },
			reported("pod a-2: container etcd: keeps stopping: exit code 137")},
		{"a member that has never run has no data", func(s *seen) { s.end(2); s.w.Members[2].Record.Ran = false },
			reported("pod a-2: container etcd: keeps stopping: exit code 2")},
	})
}
