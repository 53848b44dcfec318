package memcached

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

func TestWhatNeverComesNeedsAHuman(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	at := func(minutes int) metav1.Time {
		return metav1.NewTime(start.Add(time.Duration(minutes) * time.Minute))
	}
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Generation: 1}, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](2)},
		Status: appsv1.StatefulSetStatus{ObservedGeneration: 1, Replicas: 1, ReadyReplicas: 1, UpdatedReplicas: 1},
	}
	all := set.DeepCopy()
	all.Status.Replicas, all.Status.ReadyReplicas, all.Status.UpdatedReplicas = 2, 2, 2
	creating := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a-1", CreationTimestamp: at(5)}}
	creating.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: appName, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}}
	going := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a-1", CreationTimestamp: at(-60), DeletionTimestamp: ptr.To(at(9))}}
	unseen := set.DeepCopy()
	unseen.Generation = 2
	serves := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a-0", CreationTimestamp: at(-60)}}
	serves.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: at(7)}}
	for _, c := range []struct {
		reason   string
		set      *appsv1.StatefulSet
		pods     []corev1.Pod
		minutes  int
		degraded string // the message, in part
		wake     time.Duration
	}{
		{"a pod that is not made has its time", set, nil, 9, "", time.Minute},
		{"a pod that is not made by its time", set, nil, 10, "1 of 2 replicas updated: the events of StatefulSet a", 0},
		{"one that was made later has more of it", set, []corev1.Pod{creating}, 10, "", 5 * time.Minute},
		{"one that was made later is stuck after all", set, []corev1.Pod{creating}, 15, "its volumes or its network are not there yet", 0},
		{"one that started to serve holds up the next", set, []corev1.Pod{serves}, 16, "", 90 * time.Second},
		{"one that serves holds up the next while a rollout pauses", set, []corev1.Pod{serves}, 18, "the events of", 0},
		{"so does one that goes", set, []corev1.Pod{going}, 10, "", 9 * time.Minute},
		{"no pod has started", unseen, nil, 60, "", 0},
		{"all serve", all, []corev1.Pod{serves}, 60, "", 0},
		{"nothing was asked for, and why is said elsewhere", &appsv1.StatefulSet{}, nil, 60, "", 0},
	} {
		t.Run(c.reason, func(t *testing.T) {
			m := newMemcached(func(s *cachev1alpha1.MemcachedSpec) { s.Size = ptr.To[int32](2) })
			m.Status.Conditions = []metav1.Condition{{Type: commonv1.ConditionProgressing, Status: metav1.ConditionTrue, LastTransitionTime: at(0)}}
			w := world{set: c.set, proxy: &appsv1.Deployment{}, pods: c.pods, now: at(c.minutes).Time}
			m.Status = status(m, w)
			got := meta.FindStatusCondition(m.Status.Conditions, commonv1.ConditionDegraded)
			if (got.Status == metav1.ConditionTrue) != (c.degraded != "") || !strings.Contains(got.Message, c.degraded) {
				t.Errorf("Degraded is %s: %s", got.Status, got.Message)
			}
			if wake := untilDeadline(m, w); wake != c.wake {
				t.Errorf("looks again in %s", wake)
			}
		})
	}
}

func TestSinceWhenSomethingIsToCome(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	old, fresh := metav1.NewTime(now.Add(-time.Hour)), metav1.NewTime(now)
	ready := func(status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: commonv1.ConditionReady, Status: status, LastTransitionTime: old}
	}
	progressing := func(status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: commonv1.ConditionProgressing, Status: status, Reason: reason, LastTransitionTime: old}
	}
	degraded := metav1.Condition{Type: commonv1.ConditionDegraded, Status: metav1.ConditionTrue,
		Reason: commonv1.ReasonProgressDeadlineExceeded, LastTransitionTime: fresh}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Generation: 1}, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](1)},
		Status: appsv1.StatefulSetStatus{ObservedGeneration: 1}}
	failing := metav1.Condition{Type: commonv1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: commonv1.ReasonPodFailing,
		LastTransitionTime: old}
	for _, c := range []struct {
		reason     string
		generation int64
		before     []metav1.Condition
		stuck      bool
	}{
		{"it is new", 0, nil, false},
		{"it was well, and breaks", 0, []metav1.Condition{ready(metav1.ConditionTrue),
			progressing(metav1.ConditionFalse, commonv1.ReasonRolledOut)}, false},
		{"it was paused, and is let go", 0, []metav1.Condition{ready(metav1.ConditionFalse),
			progressing(metav1.ConditionFalse, commonv1.ReasonSpecPaused)}, false},
		{"it has been long", 0, []metav1.Condition{ready(metav1.ConditionFalse), progressing(metav1.ConditionTrue, commonv1.ReasonRollingOut)},
			true},
		{"it stays stuck", 0, []metav1.Condition{ready(metav1.ConditionFalse), progressing(metav1.ConditionFalse, commonv1.ReasonRollingOut),
			degraded}, true},
		{"it stays stuck when a pass has failed since", 0, []metav1.Condition{progressing(metav1.ConditionTrue, commonv1.ReasonRetrying),
			degraded}, true},
		{"it stays stuck where something fails", 0, []metav1.Condition{progressing(metav1.ConditionFalse, commonv1.ReasonRollingOut), failing},
			true},
		{"it is changed where something fails", 1, []metav1.Condition{progressing(metav1.ConditionFalse, commonv1.ReasonReplicas), failing},
			false},
		{"it is changed", 1, []metav1.Condition{ready(metav1.ConditionFalse), progressing(metav1.ConditionFalse, commonv1.ReasonRollingOut),
			degraded}, false},
	} {
		m := newMemcached(nil)
		m.Generation, m.Status.Conditions = c.generation, c.before
		if got := isStuck(m, world{set: set, now: now}); got != c.stuck {
			t.Errorf("%s: stuck is %t", c.reason, got)
		}
	}
}

func TestProxiesThatCannotBeMadeNeedAHuman(t *testing.T) {
	m := newMemcached(func(s *cachev1alpha1.MemcachedSpec) { s.Proxy = &cachev1alpha1.MemcachedProxy{Enabled: true} })
	refused := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 1}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](2)}}
	refused.Status.Conditions = []appsv1.DeploymentCondition{{
		Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota: small"}}
	s := status(m, world{set: &appsv1.StatefulSet{}, proxy: refused})
	got := meta.FindStatusCondition(s.Conditions, commonv1.ConditionDegraded)
	if got.Status != metav1.ConditionTrue || got.Reason != commonv1.ReasonPodFailing ||
		got.Message != "pods cannot be created: exceeded quota: small. Raise the ResourceQuota, or ask for less in spec.proxy.resources" {
		t.Errorf("Degraded is %s (%s: %s)", got.Status, got.Reason, got.Message)
	}
}
