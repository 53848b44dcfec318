package converge

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestAStuckPassIsFound(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	passes := &ReconcileTracker{Clock: clock}
	later := func(d time.Duration) { clock.SetTime(clock.Now().Add(d)) }
	want := func(object string) {
		t.Helper()
		err := passes.Stuck()
		if object == "" && err != nil || object != "" && (err == nil || !strings.Contains(err.Error(), object)) {
			t.Errorf("want %q, got %v", object, err)
		}
	}
	want("")
	a := passes.Start(t.Context(), "Redis", types.NamespacedName{Namespace: "shop", Name: "a"})
	later(stuckAfter)
	b := passes.Start(t.Context(), "Redis", types.NamespacedName{Namespace: "shop", Name: "b"})
	want("") // as slow as an API server can make it
	later(time.Second)
	want("shop/a")
	a.End()
	want("")
	later(stuckAfter)
	want("shop/b")
	b.End()
	want("")
	// many short ones over one object are none that is long
	passes.Start(t.Context(), "Redis", types.NamespacedName{Namespace: "shop", Name: "a"}).End()
	later(stuckAfter)
	passes.Start(t.Context(), "Redis", types.NamespacedName{Namespace: "shop", Name: "a"})
	want("")
}

func TestATrackerIsOptional(t *testing.T) {
	var passes *ReconcileTracker
	pass := passes.Start(t.Context(), "Redis", types.NamespacedName{})
	pass.setObject(&metav1.ObjectMeta{})
	pass.End()
}

// A pass is noted once its context has ended long ago, it was seen to continue in three looks, and noting it succeeds.
func TestAnUnendingPassIsReportedOnce(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(noon)
	passes := &ReconcileTracker{Clock: clock}
	ctx, cancel := context.WithCancel(t.Context())
	pass := passes.Start(ctx, "Redis", types.NamespacedName{Namespace: "shop", Name: "a"})
	pass.setObject(&metav1.ObjectMeta{UID: "1", Generation: 7})
	passes.Start(t.Context(), "Redis", types.NamespacedName{Namespace: "shop", Name: "not asked to end"})
	var got []StuckObject
	look := func(err error) error {
		return passes.ReportUnending(func(objects []StuckObject) error {
			got = append(got, objects...)
			return err
		})
	}
	clock.SetTime(noon.Add(time.Hour)) // as if the process had been stopped
	cancel()
	passes.Start(ctx, "Redis", types.NamespacedName{Namespace: "shop", Name: "just started"})
	for range unendingSightings - 1 {
		if err := look(nil); err != nil || got != nil {
			t.Fatalf("reported too early: %v, %v", got, err)
		}
	}
	fails := errors.New("no")
	if err := look(fails); !errors.Is(err, fails) || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
	if err := look(nil); err != nil || len(got) != 2 {
		t.Errorf("it is not tried again: %v, %v", got, err)
	}
	want := StuckObject{Kind: "Redis", Namespace: "shop", Name: "a", UID: "1", Generation: 7, LastSeen: noon.Add(time.Hour)}
	if err := look(nil); err != nil || len(got) != 2 || got[1] != want {
		t.Errorf("got %v, %v", got, err)
	}
}

// The process ends some time after it is stuck: what it leaves must be written by then.
func TestAnUnendingPassIsNotedBeforeTheProcessIsStuck(t *testing.T) {
	if passTimeout >= unendingAfter || unendingAfter+time.Minute > stuckAfter {
		t.Errorf("%s, %s, %s", passTimeout, unendingAfter, stuckAfter)
	}
	if got := Options().ReconciliationTimeout; got != passTimeout {
		t.Errorf("the context of a pass ends after %s", got)
	}
}
