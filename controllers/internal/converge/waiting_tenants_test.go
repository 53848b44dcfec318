package converge

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/handler"
)

// newWaitingTenant makes a tenant with that many workers, last served at that turn, in which objects of these priorities wait.
func newWaitingTenant(busyWorkers, lastTurn int, priorities ...int) *tenant {
	made := newTenant()
	made.busyWorkers, made.lastTurn = busyWorkers, lastTurn
	for i, priority := range priorities {
		made.waiting.add(&turn{of: made, priority: priority, arrival: i})
	}
	return made
}

func TestWhichTenantIsFirst(t *testing.T) {
	const low, ordinary = handler.LowPriority, 0
	for _, c := range []struct {
		reason    string
		lowIsNext bool
		first     *tenant // nil if none is
		others    []*tenant
	}{
		{"no tenant", false, nil, nil},
		{"a tenant in which no object waits is not first", false, nil, []*tenant{newWaitingTenant(1, 1)}},
		{"ordinary work is before low work", false, newWaitingTenant(0, 2, ordinary), []*tenant{newWaitingTenant(0, 1, low)}},
		{"low work is before ordinary work when it is next", true, newWaitingTenant(0, 2, low), []*tenant{newWaitingTenant(0, 1, ordinary)}},
		{"a tenant with both kinds of work has ordinary work", false, newWaitingTenant(0, 2, low, ordinary, low),
			[]*tenant{newWaitingTenant(0, 1, low)}},
		{"low work is first without ordinary work", false, newWaitingTenant(0, 1, low), nil},
		{"ordinary work is first without low work, also when that is next", true, newWaitingTenant(0, 1, ordinary), nil},
		{"fewer workers are before ordinary work", false, newWaitingTenant(1, 2, low), []*tenant{newWaitingTenant(2, 1, ordinary)}},
		{"fewer workers are before low work that is next", true, newWaitingTenant(1, 2, ordinary), []*tenant{newWaitingTenant(2, 1, low)}},
		{"of two with ordinary work, the one served longest ago is first", false, newWaitingTenant(1, 1, ordinary),
			[]*tenant{newWaitingTenant(1, 3, ordinary), newWaitingTenant(1, 2, ordinary)}},
		{"of two with low work, the one served longest ago is first", false, newWaitingTenant(1, 1, low),
			[]*tenant{newWaitingTenant(1, 3, low), newWaitingTenant(1, 2, low)}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			waiting := newWaitingTenants()
			for _, other := range c.others {
				waiting.move(other)
			}
			if c.first != nil {
				waiting.move(c.first)
			}
			waiting.lowIsNext = c.lowIsNext
			if got := waiting.first(); got != c.first {
				t.Errorf("got %+v, want %+v", got, c.first)
			}
		})
	}
}

func TestATenantThatChangesIsMoved(t *testing.T) {
	const low, ordinary = handler.LowPriority, 0
	a, b := newWaitingTenant(0, 1, low), newWaitingTenant(0, 2, low)
	waiting := newWaitingTenants()
	waiting.move(a)
	waiting.move(b)
	for _, step := range []struct {
		reason  string
		changed *tenant
		change  func()
		first   *tenant // then
	}{
		{"nothing has changed", b, func() {}, a},
		{"another object of it comes", b, func() { b.waiting.add(&turn{of: b, priority: ordinary}) }, b},
		{"it gets a worker", b, func() { b.busyWorkers++ }, a},
		{"its object is served", a, func() { a.waiting.remove(a.waiting.first()) }, b},
		{"its object of ordinary priority is served", b, func() { b.waiting.remove(b.waiting.first()) }, b},
		{"its last object is served", b, func() { b.waiting.remove(b.waiting.first()) }, nil},
		{"an object comes again", a, func() { a.waiting.add(&turn{of: a, priority: low}) }, a},
	} {
		step.change()
		waiting.move(step.changed)
		if got := waiting.first(); got != step.first {
			t.Fatalf("%s: got %+v first, want %+v", step.reason, got, step.first)
		}
	}
}
