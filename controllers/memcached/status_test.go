package memcached

import (
	"slices"
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

// emptyWorld is one in which none of the children exist.
var emptyWorld = world{set: &appsv1.StatefulSet{}, proxy: &appsv1.Deployment{}}

func TestStatus(t *testing.T) {
	const old, fresh = "a-1", "a-2"
	set := func(status appsv1.StatefulSetStatus) *appsv1.StatefulSet {
		status.ObservedGeneration = 2
		return &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Generation: 2},
			Spec:       appsv1.StatefulSetSpec{Replicas: ptr.To[int32](2)}, Status: status,
		}
	}
	for _, c := range []struct {
		reason string
		set    *appsv1.StatefulSet
		ready  string
	}{
		{"no StatefulSet yet", &appsv1.StatefulSet{}, "False RollingOut"},
		{"rolled out", set(appsv1.StatefulSetStatus{
			Replicas: 2, ReadyReplicas: 2, UpdatedReplicas: 2, CurrentRevision: fresh, UpdateRevision: fresh}), "True Replicas"},
		{"a change was taken back, and one node has it still", set(appsv1.StatefulSetStatus{
			Replicas: 2, ReadyReplicas: 2, UpdatedReplicas: 1, CurrentRevision: old, UpdateRevision: old}), "False RollingOut"},
		{"rolling", set(appsv1.StatefulSetStatus{
			Replicas: 2, ReadyReplicas: 2, UpdatedReplicas: 1, CurrentRevision: old, UpdateRevision: fresh}), "False RollingOut"},
		{"one not ready", set(appsv1.StatefulSetStatus{
			Replicas: 2, ReadyReplicas: 1, UpdatedReplicas: 2, CurrentRevision: fresh, UpdateRevision: fresh}), "False Replicas"},
		{"one still to go", set(appsv1.StatefulSetStatus{
			Replicas: 3, ReadyReplicas: 3, UpdatedReplicas: 3, CurrentRevision: fresh, UpdateRevision: fresh}), "False RollingOut"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			m := newMemcached(func(s *cachev1alpha1.MemcachedSpec) { s.Size = ptr.To[int32](2) })
			s := status(m, world{set: c.set, proxy: &appsv1.Deployment{}})
			got := meta.FindStatusCondition(s.Conditions, commonv1.ConditionReady)
			if string(got.Status)+" "+got.Reason != c.ready {
				t.Errorf("Ready is %s (%s: %s)", got.Status, got.Reason, got.Message)
			}
			if s.Nodes == nil || s.Servers == nil {
				t.Error("the schema wants lists, even empty")
			}
		})
	}
}

func TestTheProxyCountsWhereThereIsOne(t *testing.T) {
	out := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Generation: 1}, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](1)},
		Status: appsv1.StatefulSetStatus{ObservedGeneration: 1, Replicas: 1, ReadyReplicas: 1, UpdatedReplicas: 1},
	}
	proxy := func(ready int32) *appsv1.Deployment {
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Generation: 1}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](2)},
			Status: appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: ready},
		}
	}
	for _, c := range []struct {
		reason           string
		enabled          bool
		proxy            *appsv1.Deployment
		ready, available bool
	}{
		{"no proxy asked for", false, &appsv1.Deployment{}, true, true},
		{"no proxy yet", true, &appsv1.Deployment{}, false, false},
		{"no pod of the proxy serves", true, proxy(0), false, false},
		{"one pod of the proxy serves", true, proxy(1), false, true},
		{"all pods of the proxy serve", true, proxy(2), true, true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			m := newMemcached(func(s *cachev1alpha1.MemcachedSpec) { s.Proxy = &cachev1alpha1.MemcachedProxy{Enabled: c.enabled} })
			s := status(m, world{set: out, proxy: c.proxy})
			if got := meta.IsStatusConditionTrue(s.Conditions, commonv1.ConditionReady); got != c.ready {
				t.Errorf("Ready is %t: %v", got, s.Conditions)
			}
			if got := meta.IsStatusConditionTrue(s.Conditions, commonv1.ConditionAvailable); got != c.available {
				t.Errorf("Available is %t: %v", got, s.Conditions)
			}
		})
	}
}

func TestNodesAreTheReadyPodsSorted(t *testing.T) {
	pod := func(name string, ready corev1.ConditionStatus, going bool) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
		if going {
			p.DeletionTimestamp = ptr.To(metav1.NewTime(time.Unix(1, 0)))
		}
		return p
	}
	got := readyPodNames([]corev1.Pod{
		pod("a-2", corev1.ConditionTrue, false), pod("a-0", corev1.ConditionTrue, false),
		pod("a-1", corev1.ConditionFalse, false), pod("a-3", corev1.ConditionTrue, true), {},
	})
	if !slices.Equal(got, []string{"a-0", "a-2"}) {
		t.Error(got)
	}
}

func TestStatusTakesTheTimeOfAConditionOver(t *testing.T) {
	m := newMemcached(nil)
	m.Status = status(m, emptyWorld)
	then := metav1.NewTime(time.Unix(1, 0))
	for i := range m.Status.Conditions {
		m.Status.Conditions[i].LastTransitionTime = then
	}
	for _, c := range status(m, emptyWorld).Conditions {
		if c.LastTransitionTime != then {
			t.Errorf("%s seems to have turned", c.Type)
		}
	}
}
