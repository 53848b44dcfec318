package redis

import (
	"errors"
	"testing"
)

// A leader that was stopped takes the master that another has made for a usurper.
func TestWokenLeaderFencesNobody(t *testing.T) {
	sim := newSim(t, 1)
	sim.calm = true
	master := sim.pods[0]
	master.master = true
	f := &fleet{servers: map[string]server{master.name: master}}
	usurper := step{do: fence, nodes: []string{master.name}}
	leads := false
	r := &Reconciler{}
	r.Leads = func() bool { return leads }

	if err := r.perform(t.Context(), sim.redis, f, usurper, nil); !errors.Is(err, errNotLeading) || !master.master {
		t.Errorf("another leads: %v, still master: %t", err, master.master)
	}
	leads = true
	if err := r.perform(t.Context(), sim.redis, f, usurper, nil); err != nil || master.master {
		t.Errorf("it leads: %v, still master: %t", err, master.master)
	}
}
