package activity

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once"
)

func TestShouldRetry(t *testing.T) {
	on := func(states ...egov1.RetryCause) egov1.RetryPolicy { return egov1.RetryPolicy{Causes: states} }
	codes := func(codes egov1.ExitCodes) egov1.RetryPolicy { return egov1.RetryPolicy{ExitCodes: &codes} }
	retryOn, failOn := codes(egov1.ExitCodes{RetryOn: []int32{75}}), codes(egov1.ExitCodes{FailOn: []int32{75}})
	for name, c := range map[string]struct {
		policy egov1.RetryPolicy
		ended  egov1.ProcessState
		exit   *int32
		reason string
		never  bool // it never started
		want   bool
	}{
		"failed":                  {ended: egov1.Failed, want: true},
		"timed out":               {ended: egov1.TimedOut},
		"lost":                    {policy: on(egov1.RetryFailed, egov1.RetryTimedOut), ended: egov1.Lost},
		"an empty policy":         {policy: on(), ended: egov1.Failed, want: true},
		"timed out, which counts": {policy: on(egov1.RetryTimedOut), ended: egov1.TimedOut, want: true},
		"failed, which does not":  {policy: on(egov1.RetryTimedOut), ended: egov1.Failed},
		"one of retryOn":          {policy: retryOn, ended: egov1.Failed, exit: ptr.To[int32](75), want: true},
		"none of retryOn":         {policy: retryOn, ended: egov1.Failed, exit: ptr.To[int32](1)},
		"retryOn, it did not run": {policy: retryOn, ended: egov1.Failed, want: true},
		"the runtime's own code": {policy: retryOn, ended: egov1.Failed, exit: ptr.To[int32](128), reason: "StartError", never: true,
			want: true},
		"the guard's own code": {policy: retryOn, ended: egov1.Failed, exit: ptr.To[int32](125), reason: commonv1.ReasonNotStarted,
			want: true},
		"one of failOn":            {policy: failOn, ended: egov1.Failed, exit: ptr.To[int32](75)},
		"none of failOn":           {policy: failOn, ended: egov1.Failed, exit: ptr.To[int32](1), want: true},
		"failOn, it did not run":   {policy: failOn, ended: egov1.Failed, want: true},
		"succeeded is never tried": {policy: on(egov1.RetryFailed, egov1.RetryTimedOut), ended: egov1.Succeeded, exit: ptr.To[int32](0)},
	} {
		t.Run(name, func(t *testing.T) {
			attempt := egov1.Attempt{Prosta: c.ended, Result: egov1.Result{ExitCode: c.exit, Reason: c.reason, StartTime: &testTime}}
			if c.never {
				attempt.StartTime = nil
			}
			a := activityWith(egov1.ActivitySpec{Retries: 1, RetryPolicy: c.policy}, attempt)
			if got := shouldRetry(a, currentAttempt(a)); got != c.want {
				t.Errorf("got %t", got)
			}
			if a.Spec.Retries = 0; shouldRetry(a, currentAttempt(a)) {
				t.Error("no retry was left")
			}
		})
	}
}

// TestAnEndIsTheEnd has a run that has ended though its policy would ask for more.
func TestAnEndIsTheEnd(t *testing.T) {
	a := activityWith(egov1.ActivitySpec{Retries: 1}, failedAttempt)
	a.Status.Prosta = egov1.Failed
	if got := nextStep(a, nil, testTime.Add(time.Hour)); got != once.Wait {
		t.Errorf("got %q", got)
	}
}

func TestRetryTime(t *testing.T) {
	for name, c := range map[string]struct {
		policy egov1.RetryPolicy
		number int32
		want   time.Duration
	}{
		"no policy":      {number: 1, want: -1},
		"by default":     {policy: defaultRetryPolicy, number: 1, want: 10 * time.Second},
		"doubled":        {policy: defaultRetryPolicy, number: 3, want: 40 * time.Second},
		"at most":        {policy: defaultRetryPolicy, number: 10, want: 10 * time.Minute},
		"chosen":         {policy: egov1.RetryPolicy{Backoff: &metav1.Duration{Duration: time.Minute}}, number: 2, want: 2 * time.Minute},
		"at once":        {policy: egov1.RetryPolicy{Backoff: &metav1.Duration{}}, number: 5, want: 0},
		"most, the 10th": {policy: egov1.RetryPolicy{Backoff: &metav1.Duration{Duration: 10 * time.Minute}}, number: 10, want: 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			a := activityWith(egov1.ActivitySpec{RetryPolicy: c.policy})
			got := retryTime(a, &egov1.Attempt{Number: c.number, Result: egov1.Result{FinishTime: &testTime}})
			if c.want < 0 && !got.IsZero() || c.want >= 0 && !got.Equal(testTime.Add(c.want)) {
				t.Errorf("got %s", got)
			}
		})
	}
}

// TestWoken asks a new process each time when it wants to be woken, and checks what it
// does then: what it waits for is in the object alone.
func TestWoken(t *testing.T) {
	in := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	for name, c := range map[string]struct {
		spec  egov1.ActivitySpec
		stuck bool
		wake  []time.Duration // after each pass that has nothing to do but to wait
		want  egov1.ProcessState
		gone  bool
	}{
		"backoff": {spec: egov1.ActivitySpec{Retries: 2, RetryPolicy: defaultRetryPolicy},
			wake: []time.Duration{10 * time.Second, 20 * time.Second}, want: egov1.Failed},
		"deadline": {spec: egov1.ActivitySpec{StartDeadline: in(time.Minute)}, stuck: true, wake: []time.Duration{time.Minute},
			want: egov1.Failed},
		"suspended deadline": {spec: egov1.ActivitySpec{Suspend: true, StartDeadline: in(time.Minute)}, wake: []time.Duration{time.Minute},
			want: egov1.Failed},
		"started in time": {spec: egov1.ActivitySpec{StartDeadline: in(time.Minute)}, want: egov1.Failed},
		"ttl": {spec: egov1.ActivitySpec{TTLSecondsAfterFinished: ptr.To[int32](90)}, wake: []time.Duration{90 * time.Second},
			gone: true},
		"ttl of a cancelled": {spec: egov1.ActivitySpec{Cancel: true, StartDeadline: in(time.Minute), TTLSecondsAfterFinished: ptr.To[int32](90)},
			wake: []time.Duration{90 * time.Second}, gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFakeCluster(t, 1)
			w.neverStarts = c.stuck
			w.submit(c.spec)
			for _, left := range c.wake {
				for _, early := range []time.Duration{left, left / 2, 1} { // the operator may fall while it waits
					w.operator().runUntilQuiet()
					w.now = w.now.Add(left - early)
					result, err := w.operator().Reconcile(context.Background(), ctrl.Request{NamespacedName: key})
					if err != nil || result.RequeueAfter != early {
						t.Errorf("%s early: %+v, %v", early, result, err)
					}
					w.now = w.now.Add(early - left)
				}
				w.now = w.now.Add(left)
			}
			w.operator().runUntilQuiet()
			switch a := w.activity(); {
			case c.gone != (a == nil):
				t.Errorf("it is %+v", a)
			case a != nil && a.Status.Prosta != c.want:
				t.Errorf("got %+v", a.Status)
			}
			if result, err := w.operator().Reconcile(context.Background(), ctrl.Request{NamespacedName: key}); err != nil ||
				result.RequeueAfter != 0 {
				t.Errorf("in the end: %+v, %v", result, err)
			}
			for _, p := range w.pods() {
				if p.Status.Phase == corev1.PodRunning {
					t.Errorf("pod %s still runs", p.Name)
				}
			}
		})
	}
}

// TestAnEndedPodIsLetGoThoughTheNextIsRefused has an ended pod that may be what fills the quota.
func TestAnEndedPodIsLetGoThoughTheNextIsRefused(t *testing.T) {
	w := newFakeCluster(t, 1, 0)
	w.submit(egov1.ActivitySpec{Retries: 1})
	o := w.operator()
	o.intercept = func(call string, do func() error) error {
		if call == "create *v1.Pod" && len(w.pods()) > 0 {
			return apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("exceeded quota"))
		}
		return do()
	}
	o.runUntilQuiet()
	first := w.pods()[0]
	if a := w.activity(); a.Status.Prosta != egov1.Retrying || hasFinalizer(&first) {
		t.Fatalf("%s, and the first pod has %v", a.Status.Prosta, first.Finalizers)
	}
	w.must(w.server.Delete(t.Context(), &first)) // as the user makes room
	o.runUntilQuiet()
	if a := w.activity(); a.Status.Prosta != egov1.Succeeded {
		t.Errorf("got %+v", a.Status)
	}
}
