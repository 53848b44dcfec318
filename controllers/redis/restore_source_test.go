package redis

import (
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
)

// ended is the status of a container that ended a minute ago.
func ended(name string, code int32, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: "Error", Message: message, FinishedAt: metav1.NewTime(fixture.Noon.Add(-time.Minute))}}}
}

func TestSourceFromPod(t *testing.T) {
	item := `{"item":{"name":"20260102T120000Z-89abcdef","size":1,"sha256":"` +
		strings.Repeat("a", 64) + `"}}`
	for _, c := range []struct {
		reason        string
		init, main    []corev1.ContainerStatus
		phase         corev1.PodPhase
		item, failure string
	}{
		{"it fetches", nil, nil, corev1.PodPending, "", ""},
		{"it serves", []corev1.ContainerStatus{ended("fetch", 0, item)}, nil, corev1.PodRunning, "20260102T120000Z-89abcdef", ""},
		{"the store refuses", []corev1.ContainerStatus{ended("fetch", 1, `{"error":"NoSuchBucket: no\u0007 such bucket"}`)}, nil,
			corev1.PodFailed, "", "NoSuchBucket: no? such bucket"},
		{"the runner says nothing", []corev1.ContainerStatus{ended("fetch", 2, "")}, nil, corev1.PodFailed, "",
			"container fetch ended with exit code 2 (Error)"},
		{"nothing that can be read", []corev1.ContainerStatus{ended("fetch", 0, "{")}, nil, corev1.PodRunning, "",
			"its manifest has an impossible name"},
		{"a name that is none", []corev1.ContainerStatus{ended("fetch", 0, `{"item":{"name":"../../x"}}`)}, nil, corev1.PodRunning, "",
			"its manifest has an impossible name"},
		{"more than a runner says", []corev1.ContainerStatus{ended("fetch", 1, `{"error":"`+strings.Repeat("x", 3000)+`"}`)}, nil,
			corev1.PodFailed, "", "container fetch ended"},
		{"the server does not take it", []corev1.ContainerStatus{ended("fetch", 0, item)},
			[]corev1.ContainerStatus{ended("serve", 1, "Can't handle RDB format version 99")},
			corev1.PodFailed, "20260102T120000Z-89abcdef", "Can't handle RDB format version 99"},
		{"a container of somebody else ends", []corev1.ContainerStatus{ended("istio-init", 0, "")}, nil, corev1.PodPending, "", ""},
		{"it was evicted", nil, nil, corev1.PodFailed, "", "the pod a-restore has ended"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a-restore", CreationTimestamp: metav1.NewTime(fixture.Noon.Add(-time.Minute))},
				Status: corev1.PodStatus{Phase: c.phase, InitContainerStatuses: c.init, ContainerStatuses: c.main}}
			got := sourceFromPod(pod, fixture.Noon)
			if got.Item != c.item || !strings.Contains(got.Failure, c.failure) || (got.Failure == "") != (c.failure == "") {
				t.Errorf("got %q, %q", got.Item, got.Failure)
			}
			if got.Warning != "" {
				t.Errorf("it warns: %q", got.Warning)
			}
			if got.Failure != "" && got.SinceFailure != time.Minute {
				t.Errorf("since %s", got.SinceFailure)
			}
		})
	}
}

func TestSourceFromPodWarns(t *testing.T) {
	message := `{"warning":"the manifest names no source","item":{"name":"20260102T120000Z-89abcdef","size":1,"sha256":"` +
		strings.Repeat("a", 64) + `"}}`
	pod := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning,
		InitContainerStatuses: []corev1.ContainerStatus{ended("fetch", 0, message)}}}
	if got := sourceFromPod(pod, fixture.Noon); got.Item == "" || got.Warning != "the manifest names no source" {
		t.Errorf("%+v", got)
	}
}

func TestSourceFromPodSaysHowManyKeysMayHaveExpired(t *testing.T) {
	message := `{"keys":10,"expires":3,"item":{"name":"20260102T120000Z-89abcdef","size":1,"sha256":"` + strings.Repeat("a", 64) + `"}}`
	pod := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning,
		InitContainerStatuses: []corev1.ContainerStatus{ended("fetch", 0, message)}}}
	if got := sourceFromPod(pod, fixture.Noon); !strings.HasPrefix(got.Expiry, "3 of the 10 keys in the backup of 2026-01-02T12:00:00Z") {
		t.Errorf("%q", got.Expiry)
	}
}

// A pod that is recreated because its node had no room would otherwise be scheduled to the same node.
func TestTheNextRestorePodRequestsItsRoom(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(cachev1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	redis := fixture.Sized(3)
	redis.Spec.Bootstrap = &cachev1alpha1.RedisBootstrap{Backup: commonv1.BackupReference{
		Name: "nightly", Store: commonv1.BackupStore{S3: &commonv1.S3Store{Bucket: "b", SecretName: "keys"}}}}
	redis.Status.Restore = &cachev1alpha1.RedisRestore{}
	p := (&Reconciler{}).newPass(redis, nil)
	api := fake.NewClientBuilder().WithScheme(scheme).Build()
	p.Client, p.APIReader, p.Set = api, api, &appsv1.StatefulSet{}
	var pod corev1.Pod
	request := func() int64 {
		t.Helper()
		err := errors.Join(p.effects.CreateSource(t.Context()),
			api.Get(t.Context(), ctrlclient.ObjectKey{Namespace: redis.Namespace, Name: p.Spec.RestoreName()}, &pod))
		if err != nil {
			t.Fatal(err)
		}
		return pod.Spec.InitContainers[0].Resources.Requests.StorageEphemeral().Value()
	}
	end := func(message string) {
		t.Helper()
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{ended("fetch", 1, message)}
		p.Source = sourceFromPod(&pod, fixture.Noon)
		if err := p.effects.DeleteSource(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := request(); got != 128<<20 {
		t.Errorf("while no size is known, %d bytes are requested", got)
	}
	end(`{"error":"no room","nodeFull":true,"rawSize":5368709120}`)
	if got := request(); got < 5<<30 {
		t.Errorf("after a pod without room for 5 GiB, %d bytes are requested", got)
	}
	if err := api.Delete(t.Context(), &pod); err != nil { // a human does, as no node promises so much
		t.Fatal(err)
	}
	if got := request(); got != 128<<20 {
		t.Errorf("after a pod that no node had room for, %d bytes are requested", got)
	}
	end(`{"error":"no room in the scratch volume","rawSize":5368709120}`)
	if got := request(); got != 128<<20 {
		t.Errorf("after a pod whose own limit was too low, %d bytes are requested", got)
	}
}
