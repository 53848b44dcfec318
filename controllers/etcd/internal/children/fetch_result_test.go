package children

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

const (
	fetchedSum  = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	fetchedItem = `{"item":{"name":"20260102T150405Z-89abcdef","size":3,"sha256":"` + fetchedSum +
		`","revision":7,"serverVersion":"3.6.16"}}`
	refusedBucket = `{"error":"NoSuchBucket: no bucket","permanent":true}`
)

// fetchEnded is the status of a fetch whose container has ended so.
func fetchEnded(code int32, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: "fetch", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Completed", Message: message}}}
}

func TestWhatAFetchSays(t *testing.T) {
	again := fetchEnded(1, refusedBucket)
	again.LastTerminationState, again.State, again.RestartCount = again.State,
		corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, 3
	lost := fetchEnded(0, fetchedItem)
	lost.LastTerminationState, lost.State, lost.RestartCount = lost.State, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, 1
	for _, c := range []struct {
		name   string
		status corev1.ContainerStatus
		want   membership.Fetch
	}{
		{"nothing yet", corev1.ContainerStatus{Name: "fetch"}, membership.Fetch{}},
		{"the backup", fetchEnded(0, fetchedItem), membership.Fetch{Attempts: 1, Item: &databasev1alpha1.EtcdRestoredBackup{
			Item: "20260102T150405Z-89abcdef", SHA256: fetchedSum, Revision: 7, ServerVersion: "3.6.16"}}},
		{"that its data asks for a login", fetchEnded(0, strings.TrimSuffix(fetchedItem, "}")+`,"requiresLogin":true}`),
			membership.Fetch{Attempts: 1,
				RequiresLogin: true, Item: &databasev1alpha1.EtcdRestoredBackup{Item: "20260102T150405Z-89abcdef", SHA256: fetchedSum, Revision: 7,
					ServerVersion: "3.6.16"}}},
		{"that nothing shows whose data it has", fetchEnded(0, strings.TrimSuffix(fetchedItem, "}")+`,"warning":"the manifest names no source"}`),
			membership.Fetch{Attempts: 1, Warning: "the manifest names no source", Item: &databasev1alpha1.EtcdRestoredBackup{
				Item: "20260102T150405Z-89abcdef", SHA256: fetchedSum, Revision: 7, ServerVersion: "3.6.16"}}},
		{"why it failed", fetchEnded(1, refusedBucket), membership.Fetch{Attempts: 1, Error: "NoSuchBucket: no bucket", Permanent: true}},
		{"that its node's disk is full", fetchEnded(1, `{"error":"no room","nodeFull":true,"rawSize":9}`),
			membership.Fetch{Attempts: 1, Error: "no room", NodeFull: true, SizeWithoutRoom: 9}},
		{"also while it is tried again", again, membership.Fetch{Attempts: 4, Error: "NoSuchBucket: no bucket", Permanent: true}},
		{"no result", fetchEnded(137, "killed"), membership.Fetch{Attempts: 1, Error: "container fetch ended with exit code 137 (Completed)"}},
		{"a result of nothing", fetchEnded(0, "{}"), membership.Fetch{Attempts: 1, Permanent: true,
			Error: "its manifest has an impossible name, size, revision, offset or SHA-256: choose another backup"}},
		{"it is fetched once more", lost, membership.Fetch{Attempts: 2}},
		{"words that are no name", fetchEnded(0, `{"item":{"name":"../../x"}}`), membership.Fetch{Attempts: 1, Permanent: true,
			Error: "its manifest has an impossible name, size, revision, offset or SHA-256: choose another backup"}},
		{"words that cannot be shown", fetchEnded(1, `{"error":"a\u0000b"}`), membership.Fetch{Attempts: 1, Error: "a?b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "p", Annotations: map[string]string{config.AnnotationLoads: "3.6.16"}},
				Status: corev1.PodStatus{PodIP: "10.0.0.9", InitContainerStatuses: []corev1.ContainerStatus{{Name: "install"}, c.status}}}
			c.want.UID, c.want.Address, c.want.MaxMinor = "p", "10.0.0.9", 6
			got := ReadFetch(pod)
			if item := got.Item; item != nil && c.want.Item != nil && *item == *c.want.Item {
				got.Item, c.want.Item = nil, nil
			}
			if got != c.want {
				t.Errorf("got %+v", got)
			}
		})
	}
}
