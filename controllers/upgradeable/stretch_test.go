package upgradeable

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// alternateChanges has the objects of one namespace change for ever, none of them for long enough to be let go.
func (t *testEnv) alternateChanges(round int) {
	t.Helper()
	t.put(failingOver(fmt.Sprintf("a%d", round%2)))
	t.put(healthyNamed(fmt.Sprintf("a%d", (round+1)%2)))
}

// openFor is the longest time for which the upgrade was not held while one change followed another, and when that started. pause is
// between the end of one change and the start of the next.
func (t *testEnv) openFor(total, pause time.Duration) (longest, started time.Duration) {
	t.Helper()
	const step = time.Minute
	var since time.Duration = -1
	for at, round := time.Duration(0), 0; at < total; at, round = at+step, round+1 {
		if pause > 0 && round%2 == 1 {
			t.put(healthyNamed("a0"))
			t.put(healthyNamed("a1"))
		} else {
			t.alternateChanges(round)
		}
		t.reconcileAfter(step)
		switch open := t.reported.Status == metav1.ConditionTrue; {
		case !open:
			since = -1
		case since < 0:
			since = at
		}
		if since >= 0 && at-since > longest {
			longest, started = at-since, since
		}
	}
	return longest, started
}

// One namespace's changes, which follow each other without end, hold the upgrade for an hour. It is then let through for long enough that
// OLM sees it, also if there is a moment between two changes.
func TestChangesWithoutEndHoldAnHour(t *testing.T) {
	for _, pause := range []time.Duration{0, time.Minute} {
		t.Run(pause.String(), func(t *testing.T) {
			p := newTestEnv(t)
			longest, started := p.openFor(3*time.Hour, pause)
			if longest < minOpen-2*time.Minute || started < maxStretch-2*time.Minute || started > maxStretch+time.Minute {
				t.Errorf("the upgrade was let through for %s, after %s", longest, started)
			}
		})
	}
}

// What a former leader has said counts, so that leaders that follow each other do not hold the upgrade an hour each.
func TestALeaderContinuesTheStretchOfTheOneBefore(t *testing.T) {
	p := newTestEnv(t)
	p.put(failingOver("a"))
	p.reconcileAfter(0)
	p.Reconciler = &Reconciler{Client: p.Client, APIReader: p.APIReader, Condition: csv, Clock: p.clock}
	p.put(failingOver("b"))
	if again := p.reconcileAfter(maxStretch - time.Minute); again != time.Minute {
		t.Errorf("it runs again in %s", again)
	}
	p.expect(metav1.ConditionFalse, "1h0m0s for all together", 2, 2)
	if again := p.reconcileAfter(time.Minute); again > minOpen {
		t.Errorf("it runs again in %s", again)
	}
	p.expect(metav1.ConditionTrue, "changes have followed each other for 1h0m0s: the upgrade no longer waits for Redis shop/a", 3, 3)
}

// After the upgrade was let through, changes hold it again: it may not have been wanted.
func TestAStretchFollowsAnother(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	for name, c := range map[string]struct {
		wanted []int // minutes in which a change is under way
		at     time.Duration
		holds  bool
	}{
		"a change holds":                                             {wanted: nil, at: 0, holds: true},
		"changes hold for nearly an hour":                            {wanted: []int{0, 20, 40}, at: maxStretch - 1, holds: true},
		"changes do not hold for longer":                             {wanted: []int{0, 20, 40}, at: maxStretch},
		"a pause of half an hour ends the stretch":                   {wanted: []int{0}, at: time.Minute + minOpen, holds: true},
		"a change right after an hour of changes does not hold":      {wanted: []int{0, 20, 40, 60}, at: maxStretch + 2*time.Minute},
		"a change half an hour after a stretch holds":                {wanted: []int{0, 20, 40, 60}, at: 41*time.Minute + minOpen, holds: true},
		"a pause of less than half an hour does not end the stretch": {wanted: []int{0, 30}, at: maxStretch},
	} {
		t.Run(name, func(t *testing.T) {
			var s stretch
			for _, minute := range c.wanted {
				at := start.Add(time.Duration(minute) * time.Minute)
				s = s.update(true, at).update(false, at.Add(time.Minute))
			}
			if got := s.update(true, start.Add(c.at)).mayHold(); got != c.holds {
				t.Errorf("it holds: %t", got)
			}
		})
	}
}
