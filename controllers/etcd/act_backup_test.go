package etcd

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

func situationOf(e *databasev1alpha1.EtcdCluster) membership.Situation {
	return membership.Situation{Spec: config.Resolve(e, &appsv1.StatefulSet{}, []string{"etcd:v3.5.35", "etcd:v3.6.16", "etcd:v3.7.3"}),
		Status: &e.Status}
}

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
		{"why it failed", fetchEnded(1, refusedBucket), membership.Fetch{Attempts: 1, Error: "NoSuchBucket: no bucket", Permanent: true}},
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
			got := fetchIn(pod)
			if item := got.Item; item != nil && c.want.Item != nil && *item == *c.want.Item {
				got.Item, c.want.Item = nil, nil
			}
			if got != c.want {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestAMemberSaysWhyItCannotStartWithTheBackup(t *testing.T) {
	started := true
	ended := &corev1.ContainerStateTerminated{ExitCode: launcher.ExitUnusable, Message: launcher.Unusable + "no room"}
	for _, c := range []struct {
		name   string
		status corev1.ContainerStatus
		ended  *corev1.ContainerStateTerminated
		want   string
	}{
		{"why", corev1.ContainerStatus{}, ended, "no room"},
		{"nothing once it has started", corev1.ContainerStatus{Started: &started}, ended, ""},
		{"nothing if it ended otherwise", corev1.ContainerStatus{}, &corev1.ContainerStateTerminated{ExitCode: launcher.ExitDataLost}, ""},
		{"nothing if it has not ended", corev1.ContainerStatus{}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := unusableBackup(c.status, c.ended); got != c.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

// fetchEffects are effects on a fake API server that has these pods.
func fetchEffects(e *databasev1alpha1.EtcdCluster, pods ...ctrlclient.Object) (*apiEffects, ctrlclient.Client) {
	api := fake.NewClientBuilder().WithObjects(pods...).Build()
	a := effectsOn(api, e)
	a.LauncherImage, a.clock = "operator", clocktesting.NewFakePassiveClock(time.Unix(9, 0))
	return a, api
}

func TestThePodOfABackupIsMadeOnce(t *testing.T) {
	e := fixture.FromBackup()
	a, api := fetchEffects(e)
	for range 2 { // the cache may not show it yet
		if err := a.createFetchPod(t.Context(), situationOf(e), ""); err != nil {
			t.Fatal(err)
		}
	}
	var pods corev1.PodList
	if err := api.List(t.Context(), &pods); err != nil || len(pods.Items) != 1 || !metav1.IsControlledBy(&pods.Items[0], e) {
		t.Errorf("got %v, %v", pods.Items, err)
	}
}

func TestAStrangersPodIsRefused(t *testing.T) {
	e := fixture.FromBackup()
	a, _ := fetchEffects(e, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a-restore"}})
	if err := a.createFetchPod(t.Context(), situationOf(e), ""); err == nil ||
		!strings.Contains(err.Error(), `Pod "a-restore" exists and belongs to somebody else`) {
		t.Errorf("got %v", err)
	}
	if pods, err := a.listFetchPods(t.Context()); len(pods) > 0 || err != nil {
		t.Errorf("it is taken for ours: %v, %v", pods, err)
	}
	a.LauncherImage = ""
	if err := a.createFetchPod(t.Context(), situationOf(e), ""); err == nil || !strings.Contains(err.Error(), "RELATED_IMAGE_OPERATOR") {
		t.Errorf("got %v", err)
	}
}

func TestTheEndOfARestoreIsRecorded(t *testing.T) {
	e := fixture.FromBackup()
	e.Status.Membership = &databasev1alpha1.EtcdMembership{Restore: fixture.Restore("i")}
	a, api := fetchEffects(e)
	if err := a.createFetchPod(t.Context(), situationOf(e), ""); err != nil {
		t.Fatal(err)
	}
	pods, err := a.listFetchPods(t.Context())
	if err != nil || len(pods) != 1 {
		t.Fatal(pods, err)
	}
	pod := &pods[0]
	pod.UID = "fetch" // as an API server would have given it
	a.in.fetches = pods
	var refusal error
	a.saveStatus = func(context.Context) error { return refusal }
	a.Fetch = membership.Fetch{UID: "fetch"}
	for _, refusal = range []error{errors.New("conflict"), nil} {
		e.Status.Membership.Restore = fixture.Restore("i")
		if err := a.doEndRestore(t.Context(), membership.Step{Do: membership.EndRestore}); !errors.Is(err, refusal) {
			t.Fatal(err)
		}
	}
	last := e.Status.LastRestore
	if e.Status.Membership.Restore != nil || last == nil || last.Item != "i" || last.Revision != 7 || last.Time.Unix() != 9 {
		t.Errorf("got %+v, %+v", e.Status.Membership.Restore, last)
	}
	if err := api.Get(t.Context(), ctrlclient.ObjectKeyFromObject(pod), &corev1.Pod{}); ctrlclient.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("its pod stays: %v", err)
	}
	if !a.fetchOf(pod).Deleting {
		t.Error("the cache is believed, which still has it")
	}
}

// Nothing shows whose data a backup has whose manifest names no source.
func TestABackupOfAnUnknownSourceIsReported(t *testing.T) {
	for _, warning := range []string{"", "the manifest names no source"} {
		e := fixture.FromBackup()
		e.Status.Membership = &databasev1alpha1.EtcdMembership{Restore: fixture.Restore("i")}
		a, _ := fetchEffects(e)
		a.saveStatus = func(context.Context) error { return nil }
		fetched := strings.TrimSuffix(fetchedItem, "}") + `,"warning":"` + warning + `"}`
		pod := &corev1.Pod{Status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{fetchEnded(0, fetched)}}}
		recorder := events.NewFakeRecorder(1)
		a.Fetch, a.Events = fetchIn(pod), recorder
		if err := a.doEndRestore(t.Context(), membership.Step{Do: membership.EndRestore}); err != nil {
			t.Fatal(err)
		}
		if reported := len(recorder.Events) == 1; reported != (warning != "") {
			t.Errorf("a warning %q is reported: %t", warning, reported)
		}
	}
}
