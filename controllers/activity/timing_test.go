package activity

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
)

// TestRequeueAfter checks for the first moment at which time alone changes what there is to do.
func TestRequeueAfter(t *testing.T) {
	unstarted := egov1.Attempt{Prosta: egov1.Failed, PodUID: "p0", Result: egov1.Result{FinishTime: &testTime}}
	ran := egov1.Attempt{Prosta: egov1.Failed, PodUID: "p0", Result: egov1.Result{StartTime: &testTime, FinishTime: &testTime}}
	within := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	for name, c := range map[string]struct {
		spec     egov1.ActivitySpec
		attempts []egov1.Attempt
		after    time.Duration
		want     time.Duration
	}{
		"nothing is waited for": {attempts: []egov1.Attempt{adoptedAttempt}},
		"the deadline":          {spec: egov1.ActivitySpec{StartDeadline: within(time.Minute)}, after: time.Second, want: 59 * time.Second},
		"the deadline has passed": {spec: egov1.ActivitySpec{StartDeadline: within(time.Minute)}, attempts: []egov1.Attempt{adoptedAttempt},
			after: time.Hour},
		"the deadline was met": {spec: egov1.ActivitySpec{StartDeadline: within(time.Minute)}, attempts: []egov1.Attempt{runningAttempt}},
		"the backoff": {spec: egov1.ActivitySpec{Retries: 1, RetryPolicy: defaultRetryPolicy}, attempts: []egov1.Attempt{ran},
			want: 10 * time.Second},
		"the backoff, suspended": {spec: egov1.ActivitySpec{Retries: 1, RetryPolicy: defaultRetryPolicy, Suspend: true},
			attempts: []egov1.Attempt{ran}},
		"the backoff, no retry": {spec: egov1.ActivitySpec{RetryPolicy: defaultRetryPolicy}, attempts: []egov1.Attempt{ran}},
		"the backoff, then running": {spec: egov1.ActivitySpec{Retries: 1, RetryPolicy: defaultRetryPolicy},
			attempts: []egov1.Attempt{ran, runningAttempt}},
		"the deadline first": {spec: egov1.ActivitySpec{Retries: 1, RetryPolicy: defaultRetryPolicy, StartDeadline: within(time.Second)},
			attempts: []egov1.Attempt{unstarted}, want: time.Second},
		"the backoff first": {spec: egov1.ActivitySpec{Retries: 1, RetryPolicy: defaultRetryPolicy, StartDeadline: within(time.Minute)},
			attempts: []egov1.Attempt{unstarted}, want: 10 * time.Second},
		"the ttl": {spec: egov1.ActivitySpec{TTLSecondsAfterFinished: ptr.To[int32](60)}, attempts: []egov1.Attempt{ran}, after: time.Second,
			want: 59 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			a := activityWith(c.spec, c.attempts...)
			updateStatus(a, nil)
			if got := requeueAfter(a, testTime.Add(c.after)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// TestAnEndThatWasNotedLateIsKept has an operator that was away for an hour when the command ended.
func TestAnEndThatWasNotedLateIsKept(t *testing.T) {
	w := newFakeCluster(t, 1)
	now := time.Now() // conditions go by this clock
	w.now = now.Add(-time.Hour)
	w.submit(egov1.ActivitySpec{TTLSecondsAfterFinished: ptr.To[int32](90)})
	o := w.operator()
	w.must(o.reconcileOnce())
	for range 3 { // it has a node, it runs, it ends
		w.kubelet()
	}
	w.now = now
	o = w.operator()
	result, err := o.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	if a := w.activity(); a == nil || a.Status.Prosta != egov1.Failed || err != nil || result.RequeueAfter < 80*time.Second {
		t.Errorf("woken in %s, %v: %+v", result.RequeueAfter, err, a)
	}
	w.now = now.Add(time.Hour)
	if w.operator().runUntilQuiet(); w.activity() != nil {
		t.Error("it is kept for ever")
	}
}
