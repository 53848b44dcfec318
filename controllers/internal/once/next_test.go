package once

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var owner = &metav1.ObjectMeta{Name: "owner", UID: "owner-uid"}

// gatedPod returns a pod with our gate and a foreign one, then applies the changes.
func gatedPod(change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", UID: "1"}}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, schema.GroupVersionKind{Kind: "Owner"})}
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "other"}, {Name: Gate}}
	for _, c := range change {
		c(pod)
	}
	return pod
}

func ungated(pod *corev1.Pod) { pod.Spec.SchedulingGates = pod.Spec.SchedulingGates[:1] }

func unowned(pod *corev1.Pod) { pod.OwnerReferences = nil }

func deleting(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }

func TestNext(t *testing.T) {
	journaled, adopted := Attempt{PodName: "pod"}, Attempt{PodName: "pod", PodUID: "1"}
	mayAll := Facts{MayCreate: true, MayStart: true}
	for name, c := range map[string]struct {
		attempt Attempt
		pod     *corev1.Pod
		facts   Facts
		want    Step
	}{
		"it is journaled":                              {journaled, nil, mayAll, Create},
		"it is journaled, and may not be created":      {journaled, nil, Facts{MayStart: true}, Wait},
		"it is journaled, and given up":                {journaled, nil, Facts{MayCreate: true, GiveUp: true}, Save},
		"its pod is created":                           {journaled, gatedPod(), mayAll, JournalUID},
		"its pod is created, and held back":            {journaled, gatedPod(), Facts{}, JournalUID},
		"its pod is created, and given up":             {journaled, gatedPod(), Facts{GiveUp: true}, Save},
		"the pod has no owner":                         {journaled, gatedPod(unowned), mayAll, Refuse},
		"the pod has no gate":                          {journaled, gatedPod(ungated), mayAll, Refuse},
		"its pod is deleted before it is adopted":      {journaled, gatedPod(deleting), mayAll, Wait},
		"its deleted pod is kept until it is adopted":  {journaled, gatedPod(deleting), Facts{KeepsDeleted: true}, JournalUID},
		"its pod is adopted":                           {adopted, gatedPod(), mayAll, Start},
		"its pod is adopted, and may not start":        {adopted, gatedPod(), Facts{MayCreate: true}, Wait},
		"its pod is adopted, and given up":             {adopted, gatedPod(), Facts{GiveUp: true, MayStart: true}, Start},
		"its pod is adopted, and is to stop":           {adopted, gatedPod(), Facts{MayStart: true, Stop: true}, Stop},
		"its pod is gone":                              {adopted, nil, mayAll, Save},
		"its pod is replaced by another":               {Attempt{PodName: "pod", PodUID: "2"}, gatedPod(), mayAll, Save},
		"its pod runs":                                 {adopted, gatedPod(ungated), mayAll, Wait},
		"its pod runs, and is to stop":                 {adopted, gatedPod(ungated), Facts{Stop: true}, Stop},
		"its pod runs, is to stop, and is deleted":     {adopted, gatedPod(ungated, deleting), Facts{Stop: true}, Wait},
		"its pod has ended":                            {adopted, gatedPod(ungated), Facts{Ended: true, Stop: true}, Save},
		"its pod is adopted, has a gate, is deleted":   {adopted, gatedPod(deleting), mayAll, Wait},
		"an adopted pod whose owner was taken away":    {adopted, gatedPod(unowned), mayAll, Start},
		"its pod has ended, and is also being deleted": {adopted, gatedPod(deleting), Facts{Ended: true}, Save},
	} {
		if got := Next(owner, c.attempt, c.pod, c.facts); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestCanHave(t *testing.T) {
	for attempt, want := range map[Attempt]bool{
		{}:                             false,
		{PodName: "pod"}:               true,
		{PodName: "pod", PodUID: "1"}:  true,
		{PodName: "pod", PodUID: "2"}:  false,
		{PodName: "pod2", PodUID: "1"}: false,
	} {
		if got := attempt.CanHave(gatedPod()); got != want {
			t.Errorf("%+v: %t", attempt, got)
		}
	}
}
