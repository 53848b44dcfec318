package fleet

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/command"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// A leader that was stopped takes the master that another has made for a usurper.
func TestWokenLeaderFencesNoOne(t *testing.T) {
	u := newModel(1, 0, false)
	u.procs[0].master = true
	p := u.direct()
	usurper := topology.Step{Do: topology.Fence, NodeNames: []string{"a-0"}}
	leads := false
	p.operator.IsLeader = func() bool { return leads }

	if acted, err := p.actAsLeader(quiet, usurper); acted || !errors.Is(err, command.ErrNotLeading) || !u.procs[0].master {
		t.Errorf("another leads: %v, still master: %t", err, u.procs[0].master)
	}
	leads = true
	if _, err := p.actAsLeader(quiet, usurper); err != nil || u.procs[0].master {
		t.Errorf("it leads: %v, still master: %t", err, u.procs[0].master)
	}
}

// An operator that was in charge, was stopped, and wakes when another has taken over, dials again. The record shows it.
func TestEveryActAsksForTheRecord(t *testing.T) {
	u := newModel(1, 0, false)
	u.procs[0].master = true
	p := u.direct()
	usurper := topology.Step{Do: topology.Fence, NodeNames: []string{"a-0"}}
	behind := errors.New("behind")
	p.effects = scripted{changed: behind, stamped: behind}
	for _, do := range []topology.Verb{topology.Idle, topology.Wait, topology.Block} {
		if acted, err := p.actAsLeader(quiet, topology.Step{Do: do}); !acted || err != nil {
			t.Errorf("nothing is asked to %s: %v", do, err)
		}
	}
	if acted, err := p.actAsLeader(quiet, topology.Step{Do: topology.ApplySettings}); acted || !errors.Is(err, behind) {
		t.Errorf("settings are applied: %v", err)
	}
	if acted, err := p.actAsLeader(quiet, usurper); acted || !errors.Is(err, behind) || !u.procs[0].master {
		t.Errorf("the record is older: %v, still master: %t", err, u.procs[0].master)
	}
	p.operator.Identity = "a new one" // which leaves all as it is, and may not know what the servers run with
	if acted, err := p.actAsLeader(quiet, topology.Step{Do: topology.ApplySettings}); !acted || err != nil {
		t.Errorf("settings are applied by one that is not in charge: %v", err)
	}
	p.operator.Identity = ""
	p.effects = scripted{stamped: behind}
	if acted, err := p.actAsLeader(quiet, usurper); !acted || err != nil || u.procs[0].master {
		t.Errorf("it is the newest: %v, still master: %t", err, u.procs[0].master)
	}
}

// A cache that was just filled may be older than what the operator before has written on the volumes.
func TestNoOneTakesOverByOlderStamps(t *testing.T) {
	p := newModel(1, 0, false).direct()
	behind := errors.New("behind")
	p.operator.Identity = "another"
	p.effects = scripted{stamped: behind, onSave: func() error { t.Error("it has taken over"); return nil }}
	if acted, err := p.actAsLeader(quiet, topology.Step{Do: topology.Fence, NodeNames: []string{"a-0"}}); acted || !errors.Is(err, behind) {
		t.Errorf("acted: %t, %v", acted, err)
	}
}

// A take-over whose save failed may have arrived after all. From then on no connection counts as closed, and the
// object is saved as ours by takeOver alone.
func TestATakeOverThatFailsLeavesNothingBehind(t *testing.T) {
	p := newModel(1, 0, false).direct()
	lost := errors.New("the reply is lost")
	p.operator.Identity, p.Redis.Status.HolderIdentity = "this", "another"
	run := p.Nodes[0].RunID
	p.memory.noteOthersKilled(run)
	p.effects = scripted{onSave: func() error { return lost }}
	if acted, err := p.actAsLeader(quiet, topology.Step{Do: topology.Fence, NodeNames: []string{"a-0"}}); acted || !errors.Is(err, lost) {
		t.Errorf("acted: %t, %v", acted, err)
	}
	if p.Redis.Status.HolderIdentity != "another" || p.memory.commands[run].OthersKilled {
		t.Errorf("held by %q, others killed: %t", p.Redis.Status.HolderIdentity, p.memory.commands[run].OthersKilled)
	}
}

// An API server with an older CRD drops the field, and no one would be in charge.
func TestATakeOverThatIsNotKeptIsReported(t *testing.T) {
	p := newModel(1, 0, false).direct()
	p.operator.Identity = "this"
	p.effects = scripted{onSave: func() error { p.Redis.Status.HolderIdentity = ""; return nil }}
	acted, err := p.actAsLeader(quiet, topology.Step{Do: topology.Fence, NodeNames: []string{"a-0"}})
	if acted || err == nil || !strings.Contains(err.Error(), "CustomResourceDefinitions") {
		t.Errorf("acted: %t, %v", acted, err)
	}
}

// refusesToKill is a server that answers, and closes no connections.
type refusesToKill struct{ server }

func (refusesToKill) KillOtherOperators(context.Context) error { return errNoAnswer }

// Who closes no connections of others may still obey them: it counts as silent, and the rest continue without it.
func TestOneThatCannotBeTakenOverHoldsNoOneUp(t *testing.T) {
	u := recordedSet(3, true)
	u.record.members[2] = reference{} // it has confirmed nothing
	masterDies(u)
	p, _ := u.noting()
	p.servers["a-2"] = refusesToKill{p.servers["a-2"]}
	if _, err := p.execute(quiet, topology.Step{Do: topology.Promote, NodeNames: []string{"a-1"}}); err != nil {
		t.Fatal(err)
	}
	if silent, _ := p.Find("a-2"); silent.Answer != wire.Silent || !u.procs[1].master {
		t.Errorf("a-2 is %v, a-1 is master: %t", silent.Answer, u.procs[1].master)
	}
}
