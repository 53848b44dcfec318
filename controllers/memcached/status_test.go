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
		{"no StatefulSet yet", nil, "False RollingOut"},
		{"rolled out", set(appsv1.StatefulSetStatus{
			Replicas: 2, ReadyReplicas: 2, UpdatedReplicas: 2, CurrentRevision: fresh, UpdateRevision: fresh}), "True Replicas"},
		{"rolled out, and updatedReplicas no longer counted", set(appsv1.StatefulSetStatus{
			Replicas: 2, ReadyReplicas: 2, CurrentRevision: fresh, UpdateRevision: fresh}), "True Replicas"},
		{"rolling", set(appsv1.StatefulSetStatus{
			Replicas: 2, ReadyReplicas: 2, UpdatedReplicas: 1, CurrentRevision: old, UpdateRevision: fresh}), "False RollingOut"},
		{"one not ready", set(appsv1.StatefulSetStatus{
			Replicas: 2, ReadyReplicas: 1, UpdatedReplicas: 2, CurrentRevision: fresh, UpdateRevision: fresh}), "False Replicas"},
		{"one still to go", set(appsv1.StatefulSetStatus{
			Replicas: 3, ReadyReplicas: 3, UpdatedReplicas: 3, CurrentRevision: fresh, UpdateRevision: fresh}), "False RollingOut"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			m := made(func(s *cachev1alpha1.MemcachedSpec) { s.Size = ptr.To[int32](2) })
			s := status(m, c.set, nil)
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

func TestNodesAreTheReadyPodsSorted(t *testing.T) {
	pod := func(name string, ready corev1.ConditionStatus, going bool) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
		if going {
			p.DeletionTimestamp = ptr.To(metav1.NewTime(time.Unix(1, 0)))
		}
		return p
	}
	got := readyNames([]corev1.Pod{
		pod("a-2", corev1.ConditionTrue, false), pod("a-0", corev1.ConditionTrue, false),
		pod("a-1", corev1.ConditionFalse, false), pod("a-3", corev1.ConditionTrue, true), {},
	})
	if !slices.Equal(got, []string{"a-0", "a-2"}) {
		t.Error(got)
	}
}

func TestStatusTakesTheTimeOfAConditionOver(t *testing.T) {
	m := made(nil)
	m.Status = status(m, nil, nil)
	then := metav1.NewTime(time.Unix(1, 0))
	for i := range m.Status.Conditions {
		m.Status.Conditions[i].LastTransitionTime = then
	}
	for _, c := range status(m, nil, nil).Conditions {
		if c.LastTransitionTime != then {
			t.Errorf("%s seems to have turned", c.Type)
		}
	}
}
