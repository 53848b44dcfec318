package redis

import (
	"errors"
	"testing"
)

// A leader that was stopped takes the master that another has made for a usurper.
func TestWokenLeaderFencesNobody(t *testing.T) {
	u := newUniverse(1, 0, false)
	u.procs[0].master = true
	f, redis := u.direct()
	usurper := step{do: fence, nodes: []string{"a-0"}}
	leads := false
	r := &Reconciler{}
	r.Leads = func() bool { return leads }

	if err := r.perform(t.Context(), redis, f, usurper); !errors.Is(err, errNotLeading) || !u.procs[0].master {
		t.Errorf("another leads: %v, still master: %t", err, u.procs[0].master)
	}
	leads = true
	if err := r.perform(t.Context(), redis, f, usurper); err != nil || u.procs[0].master {
		t.Errorf("it leads: %v, still master: %t", err, u.procs[0].master)
	}
}
