package converge

import (
	"strings"
	"testing"
	"time"

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
	endA := passes.Start("shop/a")
	later(stuckAfter)
	endB := passes.Start("shop/b")
	want("") // as slow as an API server can make it
	later(time.Second)
	want("shop/a")
	endA()
	want("")
	later(stuckAfter)
	want("shop/b")
	endB()
	want("")
	passes.Start("shop/a")() // many short ones over one object are none that is long
	later(stuckAfter)
	passes.Start("shop/a")
	want("")
}

func TestNobodyNeedsToAskForPasses(*testing.T) {
	var passes *ReconcileTracker
	passes.Start("shop/a")()
}
