package backup

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

var testTime = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

const (
	testItem = "20300102T030405Z-89abcdef"
	testSum  = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

// testSource is an etcd of one member.
var testSource = source{
	kind: "EtcdCluster", uid: "source-uid", cluster: "ca-sum", clusterID: "abc", endpoints: []string{"data-0.data-headless.ns.svc:2379"},
	image: "etcd:1", tls: true,
	secrets: []secretKeys{{"data-certificates", []string{"ca.crt", "tls.crt", "tls.key"}}},
}

// newBackup returns an object that was made at testTime.
func newBackup(change ...func(*databasev1alpha1.EtcdBackup)) *databasev1alpha1.EtcdBackup {
	b := &databasev1alpha1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "nightly", UID: "backup-uid", Generation: 1, CreationTimestamp: metav1.NewTime(testTime),
	}}
	b.Spec.ClusterName = "data"
	b.Spec.Store.S3 = &commonv1.S3Store{Bucket: "b", SecretName: "login"}
	for _, c := range change {
		c(b)
	}
	return b
}

// running returns an object with an attempt under way, whose pod has that UID.
func running(uid string, change ...func(*databasev1alpha1.EtcdBackup)) *databasev1alpha1.EtcdBackup {
	return newBackup(append([]func(*databasev1alpha1.EtcdBackup){func(b *databasev1alpha1.EtcdBackup) {
		b.Status.Run = nextAttempt(b, testTime, 1, testTime, "operator:1")
		b.Status.Run.PodUID = podUID(uid)
	}}, change...)...)
}

// podOf returns the pod of the attempt under way, without its gate and on a node.
func podOf(b *databasev1alpha1.EtcdBackup, uid string, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := desiredPod(b, Etcd(), testSource)
	pod.UID, pod.Spec.SchedulingGates, pod.Spec.NodeName = podUID(uid), nil, "node-1"
	for _, c := range change {
		c(pod)
	}
	return pod
}

// ended has a container end with that message.
func ended(container string, code int32, message string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		status := corev1.ContainerStatus{Name: container, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, Reason: map[bool]string{true: "Completed", false: "Error"}[code == 0], Message: message,
		}}}
		if container == mainContainer {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status)
		} else {
			pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, status)
		}
		switch {
		case code != 0:
			pod.Status.Phase = corev1.PodFailed
		case container == mainContainer:
			pod.Status.Phase = corev1.PodSucceeded
		}
	}
}

// says is a Result as the runner leaves it.
func says(result backup.Result) string {
	text, err := json.Marshal(result)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func itemNamed(name string, verified bool) *commonv1.BackupItem {
	return &commonv1.BackupItem{Name: name, Size: 7, SHA256: testSum, Revision: 3, ServerVersion: "3.6.16", Verified: verified}
}

// allWell has all containers end as they should.
func allWell(pod *corev1.Pod) {
	var task backup.Task
	command := pod.Spec.Containers[0].Command
	if err := json.Unmarshal([]byte(command[len(command)-1]), &task); err != nil {
		panic(err)
	}
	for _, c := range pod.Spec.InitContainers {
		message := ""
		switch c.Name {
		case backup.CommandBackup, backup.CommandFetch:
			message = says(backup.Result{Item: itemNamed(task.Item, false)})
		case backup.CommandVerify:
			message = says(backup.Result{Item: itemNamed(task.Item, true)})
		}
		ended(c.Name, 0, message)(pod)
	}
	done := itemNamed(task.Item, task.Verify)
	ended(mainContainer, 0, says(backup.Result{Item: done, Items: []commonv1.BackupItem{*done}}))(pod)
}

func deleting(pod *corev1.Pod) {
	when := metav1.NewTime(testTime)
	pod.DeletionTimestamp = &when
}

// podUID is the UID of a pod in a table.
func podUID(uid string) types.UID { return types.UID(uid) }

func equal[T comparable](t *testing.T, reason string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", reason, got, want)
	}
}
