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
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/fleet"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

func situationOf(e *databasev1alpha1.EtcdCluster) membership.Situation {
	return membership.Situation{Spec: config.Resolve(e, &appsv1.StatefulSet{}, []string{"etcd:v3.5.35", "etcd:v3.6.16", "etcd:v3.7.3"}),
		Status: &e.Status}
}

// fetchEffects are effects on a fake API server that has these pods.
func fetchEffects(e *databasev1alpha1.EtcdCluster, pods ...ctrlclient.Object) (*apiEffects, ctrlclient.Client) {
	api := fake.NewClientBuilder().WithObjects(pods...).Build()
	a := effectsOn(api, e)
	a.LauncherImage, a.clock = "operator", clocktesting.NewFakePassiveClock(time.Unix(9, 0))
	return a, api
}

// endRestore ends a restore whose backup that pod has fetched.
func endRestore(t *testing.T, a *apiEffects, fetched membership.Fetch) error {
	t.Helper()
	f := &fleet.Fleet{Cluster: a.cluster, Effects: a, Clock: a.clock, World: membership.World{Fetch: fetched}}
	return f.Act(t.Context(), membership.Step{Do: membership.EndRestore})
}

func TestThePodOfABackupIsMadeOnce(t *testing.T) {
	e := fixture.FromBackup()
	a, api := fetchEffects(e)
	for range 2 { // the cache may not show it yet
		if err := a.CreateFetchPod(t.Context(), situationOf(e), ""); err != nil {
			t.Fatal(err)
		}
	}
	var pods corev1.PodList
	if err := api.List(t.Context(), &pods); err != nil || len(pods.Items) != 1 || !metav1.IsControlledBy(&pods.Items[0], e) {
		t.Errorf("got %v, %v", pods.Items, err)
	}
}

// A pod that is recreated because its node had no room would otherwise be scheduled to the same node.
func TestTheNextPodOfABackupRequestsItsRoom(t *testing.T) {
	e := fixture.FromBackup()
	a, api := fetchEffects(e)
	request := func() int64 {
		t.Helper()
		if err := a.CreateFetchPod(t.Context(), situationOf(e), ""); err != nil {
			t.Fatal(err)
		}
		var pods corev1.PodList
		if err := api.List(t.Context(), &pods); err != nil || len(pods.Items) != 1 {
			t.Fatalf("%d pods, %v", len(pods.Items), err)
		}
		a.in.fetches = pods.Items
		requested := pods.Items[0].Spec.InitContainers[0].Resources.Requests[corev1.ResourceEphemeralStorage]
		return requested.Value()
	}
	if got := request(); got != 128<<20 {
		t.Errorf("while no size is known, %d bytes are requested", got)
	}
	a.in.fetches[0].Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "fetch", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: `{"error":"no room","nodeFull":true,"rawSize":5368709120}`}}}}
	if err := a.DeleteFetchPod(t.Context(), a.in.fetches[0].UID); err != nil {
		t.Fatal(err)
	}
	if got := request(); got < 5<<30 {
		t.Errorf("after a pod without room for 5 GiB, %d bytes are requested", got)
	}
	if err := api.Delete(t.Context(), &a.in.fetches[0]); err != nil { // a human does, as no node promises so much
		t.Fatal(err)
	}
	if got := request(); got != 128<<20 {
		t.Errorf("after a pod that no node had room for, %d bytes are requested", got)
	}
}

func TestAStrangersPodIsRefused(t *testing.T) {
	e := fixture.FromBackup()
	a, _ := fetchEffects(e, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a-restore"}})
	if err := a.CreateFetchPod(t.Context(), situationOf(e), ""); err == nil ||
		!strings.Contains(err.Error(), `Pod "a-restore" exists and belongs to somebody else`) {
		t.Errorf("got %v", err)
	}
	if pods, err := a.listFetchPods(t.Context()); len(pods) > 0 || err != nil {
		t.Errorf("it is taken for ours: %v, %v", pods, err)
	}
	a.LauncherImage = ""
	if err := a.CreateFetchPod(t.Context(), situationOf(e), ""); err == nil || !strings.Contains(err.Error(), "RELATED_IMAGE_OPERATOR") {
		t.Errorf("got %v", err)
	}
}

func TestTheEndOfARestoreIsRecorded(t *testing.T) {
	e := fixture.FromBackup()
	e.Status.Membership = &databasev1alpha1.EtcdMembership{Restore: fixture.Restore("i")}
	a, api := fetchEffects(e)
	if err := a.CreateFetchPod(t.Context(), situationOf(e), ""); err != nil {
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
	for _, refusal = range []error{errors.New("conflict"), nil} {
		e.Status.Membership.Restore = fixture.Restore("i")
		if err := endRestore(t, a, membership.Fetch{UID: "fetch"}); !errors.Is(err, refusal) {
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
		recorder := events.NewFakeRecorder(1)
		a.Events = recorder
		if err := endRestore(t, a, membership.Fetch{Warning: warning}); err != nil {
			t.Fatal(err)
		}
		if reported := len(recorder.Events) == 1; reported != (warning != "") {
			t.Errorf("a warning %q is reported: %t", warning, reported)
		}
	}
}
