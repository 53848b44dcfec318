package conditions

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

const (
	ready       = commonv1.ConditionReady
	available   = commonv1.ConditionAvailable
	progressing = commonv1.ConditionProgressing
	degraded    = commonv1.ConditionDegraded
)

func TestSetFromWorkload(t *testing.T) {
	whole := Workload{Generation: 2, ObservedGeneration: 2, Desired: 3, MinReady: 1, Updated: 3, Ready: 3, Total: 3}
	with := func(change func(*Workload)) Workload {
		w := whole
		change(&w)
		return w
	}
	for _, c := range []struct {
		reason string
		w      Workload
		are    map[string]string // type → "Status Reason"
	}{
		{"all is well", whole, map[string]string{
			ready: "True Replicas", available: "True Replicas", progressing: "False RolledOut", degraded: "False AsExpected"}},
		{"the child does not exist", Workload{Desired: 3, MinReady: 1}, map[string]string{
			ready: "False RollingOut", available: "False Replicas", progressing: "True RollingOut", degraded: "False AsExpected"}},
		{"its controller has not seen it", with(func(w *Workload) { w.ObservedGeneration = 1 }), map[string]string{
			ready: "False RollingOut", available: "True Replicas", progressing: "True RollingOut"}},
		{"old pods serve", with(func(w *Workload) { w.Updated = 1 }), map[string]string{
			ready: "False RollingOut", available: "True Replicas"}},
		{"pods too many", with(func(w *Workload) { w.Total = 4 }), map[string]string{ready: "False RollingOut"}},
		{"one not ready", with(func(w *Workload) { w.Ready = 2 }), map[string]string{
			ready: "False Replicas", available: "True Replicas", progressing: "True Replicas"}},
		{"fewer than the minimum", with(func(w *Workload) { w.Ready, w.MinReady = 1, 2 }), map[string]string{
			ready: "False Replicas", available: "False Replicas"}},
		{"a minimum of 0 still means that something serves", with(func(w *Workload) { w.Ready, w.MinReady = 0, 0 }), map[string]string{
			available: "False Replicas"}},
		{"scaled to zero", Workload{Generation: 1, ObservedGeneration: 1, MinReady: 1}, map[string]string{
			ready: "True ScaledToZero", available: "False ScaledToZero", progressing: "False RolledOut", degraded: "False AsExpected"}},
		{"on the way to zero", Workload{Generation: 1, ObservedGeneration: 1, Total: 1}, map[string]string{
			ready: "False RollingOut", available: "False ScaledToZero"}},
		{"a pod fails", with(func(w *Workload) { w.Ready, w.Failure = 2, "pod a: broken" }), map[string]string{
			ready: "False Replicas", degraded: "True PodFailing"}},
		{"a pod that failed and is not needed", with(func(w *Workload) { w.Failure = "pod a: broken" }), map[string]string{
			ready: "True Replicas", degraded: "False AsExpected"}},
		{"beyond its deadline", with(func(w *Workload) { w.Updated, w.DeadlineExceeded = 1, true }), map[string]string{
			ready: "False RollingOut", progressing: "False RollingOut", degraded: "True ProgressDeadlineExceeded"}},
		{"beyond its deadline until now", with(func(w *Workload) { w.DeadlineExceeded = true }), map[string]string{
			ready: "True Replicas", progressing: "False RolledOut", degraded: "False AsExpected"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			var list []metav1.Condition
			SetFromWorkload(&list, 7, c.w)
			SetDegraded(&list, 7, c.w.PodFailing(list), c.w.Overdue())
			expect(t, list, c.are)
			for _, condition := range list {
				if condition.ObservedGeneration != 7 || condition.Message == "" {
					t.Errorf("incomplete: %+v", condition)
				}
			}
		})
	}
}

// A rollout reports what it waits for while it waits, and what it failed of after that.
func TestARolloutReportsWhatItWaitsFor(t *testing.T) {
	waiting := Workload{Generation: 1, ObservedGeneration: 1, Desired: 2, Updated: 2, Ready: 1, Total: 2, StartupWait: "pod a: runs"}
	stuck, done := waiting, waiting
	stuck.DeadlineExceeded, done.Ready = true, 2
	for _, c := range []struct {
		w    Workload
		says map[string]string
	}{
		{waiting, map[string]string{ready: "1 of 2 replicas ready: pod a: runs", progressing: "1 of 2 replicas ready: pod a: runs",
			degraded: "nothing needs a human"}},
		{stuck, map[string]string{ready: "1 of 2 replicas ready: pod a: runs", degraded: "1 of 2 replicas ready: pod a: runs"}},
		{done, map[string]string{ready: "2 of 2 replicas ready"}},
	} {
		var list []metav1.Condition
		SetFromWorkload(&list, 1, c.w)
		SetDegraded(&list, 1, c.w.PodFailing(list), c.w.Overdue())
		for conditionType, want := range c.says {
			if got := meta.FindStatusCondition(list, conditionType).Message; got != want {
				t.Errorf("%s says %q, not %q", conditionType, got, want)
			}
		}
	}
}

// The patterns are those of metav1.Condition's schema.
func TestOthersWordsFitIntoACondition(t *testing.T) {
	for said, want := range map[string]string{
		"OOMKilled":              "OOMKilled",
		"a,b:c_1":                "a,b:c_1",
		"OutOfephemeral-storage": "OutOfephemeral_storage",
		"OutOfexample.org/gpu":   "OutOfexample_org_gpu",
		"Zu spät.":               "Zu_sp_t_",
		"ends:":                  "ends_",
		"137":                    "Unknown_",
		"-1 below":               "Unknown_below",
		"":                       "Unknown",
	} {
		if got := sanitizeReason(said); got != want {
			t.Errorf("%q became %q", said, got)
		}
	}
	fits := regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)
	var list []metav1.Condition
	Set(&list, 1, ready, false, strings.Repeat("1:", maxReason), strings.Repeat("é", maxMessage))
	if c := list[0]; !fits.MatchString(c.Reason) || len(c.Reason) > maxReason || len(c.Message) != maxMessage {
		t.Errorf("got a reason of %d and a message of %d bytes", len(c.Reason), len(c.Message))
	}
}

// Ready reports it once, however often the status is saved.
func TestReadyReportsWhatIsDegraded(t *testing.T) {
	for _, c := range []struct {
		reason, ready, degraded string
		status                  bool
		says                    string
	}{
		{"a pod fails", "0 of 1 replicas ready", "pod a: broken", true, "0 of 1 replicas ready; pod a: broken"},
		{"all is well", "1 of 1 replicas ready", "nothing needs a human", false, "1 of 1 replicas ready"},
		{"both say the same", "m", "m", true, "m"},
		{"too long a cause", "m", strings.Repeat("x", maxMessage), true, "m; " + strings.Repeat("x", maxMessage-3)},
	} {
		t.Run(c.reason, func(t *testing.T) {
			var list []metav1.Condition
			copyDegradedIntoReady(list)
			Set(&list, 1, ready, !c.status, "r", c.ready)
			copyDegradedIntoReady(list)
			Set(&list, 1, degraded, c.status, "r", c.degraded)
			copyDegradedIntoReady(list)
			copyDegradedIntoReady(list)
			if got := list[0].Message; got != c.says {
				t.Errorf("Ready says %q", got)
			}
		})
	}
}

func TestTransitions(t *testing.T) {
	conditionOf := func(conditionType string, status metav1.ConditionStatus, reason string) []metav1.Condition {
		return []metav1.Condition{{Type: conditionType, Status: status, Reason: reason}}
	}
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	for _, c := range []struct {
		reason        string
		before, after []metav1.Condition
		turned        int
	}{
		{"new and True", nil, conditionOf(ready, yes, "a"), 1},
		{"new and False is no news", nil, conditionOf(degraded, no, "a"), 0},
		{"the same", conditionOf(ready, yes, "a"), conditionOf(ready, yes, "a"), 0},
		{"turned", conditionOf(ready, no, "a"), conditionOf(ready, yes, "a"), 1},
		{"turned back", conditionOf(ready, yes, "a"), conditionOf(ready, no, "a"), 1},
		{"True for another reason", conditionOf(degraded, yes, "a"), conditionOf(degraded, yes, "b"), 1},
		{"False for another reason is no news", conditionOf(ready, no, "a"), conditionOf(ready, no, "b"), 0},
		{"Stalled repeats another", nil, conditionOf(commonv1.ConditionStalled, yes, "a"), 0},
		{"Reconciling repeats another", nil, conditionOf(commonv1.ConditionReconciling, yes, "a"), 0},
		{"Progressing turns with every change", conditionOf(progressing, no, "a"), conditionOf(progressing, yes, "b"), 0},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := Transitions(c.before, c.after); len(got) != c.turned {
				t.Errorf("turned: %v", got)
			}
		})
	}
}

func TestSetPausedChanges(t *testing.T) {
	list := []metav1.Condition{{Type: ready, Status: metav1.ConditionTrue, Reason: "a"}}
	if SetPausedChanges(&list, 2, nil); len(list) != 1 || list[0].Status != metav1.ConditionTrue {
		t.Errorf("nothing is held back: %v", list)
	}
	SetPausedChanges(&list, 2, []string{"Deployment/a", "Service/a"})
	for _, conditionType := range []string{ready, progressing} {
		c := meta.FindStatusCondition(list, conditionType)
		if c == nil || c.Status != metav1.ConditionFalse || c.Reason != commonv1.ReasonSpecPaused || c.ObservedGeneration != 2 ||
			c.Message != "spec.paused holds back: Deployment/a, Service/a" {
			t.Errorf("%s: %+v", conditionType, c)
		}
	}
}

func TestIsWarning(t *testing.T) {
	for _, c := range []struct {
		conditionType string
		status        metav1.ConditionStatus
		reason        string
		bad           bool
	}{
		{ready, metav1.ConditionFalse, commonv1.ReasonReplicas, true},
		{ready, metav1.ConditionTrue, commonv1.ReasonReplicas, false},
		{available, metav1.ConditionFalse, commonv1.ReasonScaledToZero, false},
		{available, metav1.ConditionFalse, commonv1.ReasonHibernated, false},
		{ready, metav1.ConditionFalse, commonv1.ReasonSpecPaused, false},
		{degraded, metav1.ConditionTrue, commonv1.ReasonPodFailing, true},
		{degraded, metav1.ConditionFalse, commonv1.ReasonAsExpected, false},
		{commonv1.ConditionPaused, metav1.ConditionTrue, commonv1.ReasonSpecPaused, false},
	} {
		if got := IsWarning(metav1.Condition{Type: c.conditionType, Status: c.status, Reason: c.reason}); got != c.bad {
			t.Errorf("%s %s (%s): bad is %t", c.conditionType, c.status, c.reason, got)
		}
	}
}

func TestKeepTransitionTimesOfAnUnchangedStatus(t *testing.T) {
	then, now := metav1.NewTime(time.Unix(1, 0)), metav1.NewTime(time.Unix(2, 0))
	before := []metav1.Condition{
		{Type: ready, Status: metav1.ConditionFalse, LastTransitionTime: then},
		{Type: degraded, Status: metav1.ConditionFalse, LastTransitionTime: then},
	}
	after := []metav1.Condition{
		{Type: ready, Status: metav1.ConditionFalse, LastTransitionTime: now},
		{Type: degraded, Status: metav1.ConditionTrue, LastTransitionTime: now},
	}
	keepTransitionTimes(after, before)
	if after[0].LastTransitionTime != then || after[1].LastTransitionTime != now {
		t.Errorf("got %v", after)
	}
}

func TestPauseIsSaidOnlyOfWhatWasEverPaused(t *testing.T) {
	var list []metav1.Condition
	SetPaused(&list, 1, false)
	expect(t, list, map[string]string{})
	if len(list) != 0 {
		t.Errorf("got %v", list)
	}
	SetPaused(&list, 1, true)
	expect(t, list, map[string]string{commonv1.ConditionPaused: "True SpecPaused"})
	SetPaused(&list, 2, false)
	expect(t, list, map[string]string{commonv1.ConditionPaused: "False NotPaused"})
}

func TestImageSaysWhenANewerDefaultWaits(t *testing.T) {
	for _, c := range []struct {
		reason, running, chosen, byDefault string
		before                             bool
		is                                 string
	}{
		{"the default runs", "a:1", "", "a:1", false, ""},
		{"a newer default", "a:1", "", "a:2", false, "True NewDefaultImage"},
		{"an image of the user's", "b:1", "b:1", "a:2", false, ""},
		{"moved by the user", "a:2", "a:2", "a:2", true, "False CurrentImage"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			var list []metav1.Condition
			if c.before {
				SetUpdateAvailable(&list, 1, "a:1", "", "a:2", BySettingImage)
			}
			SetUpdateAvailable(&list, 2, c.running, c.chosen, c.byDefault, BySettingImage)
			if c.is == "" {
				if len(list) != 0 {
					t.Errorf("got %v", list)
				}
				return
			}
			expect(t, list, map[string]string{commonv1.ConditionUpdateAvailable: c.is})
		})
	}
}

func expect(t *testing.T, list []metav1.Condition, are map[string]string) {
	t.Helper()
	got := map[string]string{}
	for _, c := range list {
		got[c.Type] = string(c.Status) + " " + c.Reason
	}
	for conditionType, want := range are {
		if got[conditionType] != want {
			t.Errorf("%s is %q, not %q", conditionType, got[conditionType], want)
		}
	}
}
