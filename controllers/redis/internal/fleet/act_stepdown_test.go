package fleet

import (
	"testing"
	"time"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

func stepDownFor(u *model, name string) error {
	p := u.direct()
	return p.do(quiet, topology.Step{Do: topology.StepDown, NodeNames: []string{name}, Reason: commonv1.ReasonMasterCutOff})
}

func TestStepDownIsOneChangeOfTheMaster(t *testing.T) {
	u := recordedSet(3, false)
	u.procs[0].data = "abcd" // which no one confirmed
	if err := stepDownFor(u, "a-2"); err != nil || !u.procs[2].master || u.procs[0].master {
		t.Fatalf("%v, masters: %t %t", err, u.procs[0].master, u.procs[2].master)
	}
	if u.record.epoch != 1 || u.record.recordEpoch != 1 || u.record.recordedMasterNode != 2 || u.violation != "" {
		t.Errorf("the record: %+v; %s", u.record, u.violation)
	}
}

// Over a connection that is made after the operator was replaced, its commands would arrive.
func TestAStepDownDialsNoOne(t *testing.T) {
	u := recordedSet(3, false)
	var m *modelPass
	acting := false
	m = newModelPass(u.read(), func(q request) reply {
		if acting && q.redial {
			t.Errorf("it %s node %d by another connection", effectNames[q.effect], q.node)
		}
		return u.answer(q, &m.read)
	})
	m.fleet.ask(quiet)
	acting = true
	if err := m.fleet.do(quiet, topology.Step{Do: topology.StepDown, NodeNames: []string{"a-2"},
		Reason: commonv1.ReasonMasterCutOff}); err != nil || !u.procs[2].master {
		t.Errorf("%v, master: %t", err, u.procs[2].master)
	}
}

// A replica that heard its master again meanwhile has more than the one that was chosen.
func TestStepDownLeavesAnotherChoiceToTheNextPass(t *testing.T) {
	u := recordedSet(3, false)
	u.procs[1].data, u.confirmed = "ab", "abc"
	if err := stepDownFor(u, "a-1"); err == nil || u.procs[0].master || u.procs[1].master {
		t.Fatalf("%v, masters: %t %t", err, u.procs[0].master, u.procs[1].master)
	}
	if u.runPasses() != topology.Idle || u.record.recordedMasterNode != 2 || u.violation != "" {
		t.Errorf("the record: %+v; %s", u.record, u.violation)
	}
}

// The pod of the master was deleted by force, and its process lives on, where only the operator reaches it.
func TestAMasterWithoutAPodStepsDown(t *testing.T) {
	u := recordedSet(3, false)
	u.applyAll(transition{action: deletedByForce})
	if err := stepDownFor(u, "a-2"); err != nil || u.record.recordedMasterNode != 2 || u.violation != "" {
		t.Fatalf("%v; the record: %+v; %s", err, u.record, u.violation)
	}
	for i := range u.procs {
		if p := &u.procs[i]; p.master && p.node != 2 {
			t.Errorf("node %d is master, too", p.node)
		}
	}
}

// The servers' seconds continue from before they were asked to follow: ours start over.
func TestWhoWasAskedToFollowIsYetToReachItsMaster(t *testing.T) {
	p := recordedSet(3, false).direct()
	p.memory.cutOffSince = present.Add(-time.Hour)
	if got := p.memory.trackCutOff("", true, modelClock); got != time.Hour {
		t.Fatalf("cut off for %s", got)
	}
	if err := p.admitAndFollow(quiet, []string{"a-1"}); err != nil {
		t.Fatal(err)
	}
	if got := p.memory.trackCutOff("", true, modelClock); got != 0 {
		t.Errorf("cut off for %s", got)
	}
}

// In the model, as in life: it takes one pass to fence, one to promote, and the cut may last.
func TestCutOffMasterIsReplacedOnce(t *testing.T) {
	u := cutOffMaster(t)
	known := operatorMemory{identity: u.next()}
	for range 10 {
		if _, err := u.runPass(&known); err != nil {
			t.Fatal(err)
		}
	}
	if u.record.recordedMasterNode == 0 || len(u.attachedReplicas(u.processOf(u.record.recordedMaster.pod))) != 1 {
		t.Errorf("node %d serves, and feeds %d", u.record.recordedMasterNode, len(u.attachedReplicas(u.processOf(u.record.recordedMaster.pod))))
	}
	epoch := u.record.epoch
	u.applyAll(transition{action: healed, a: 0, b: 1}, transition{action: healed, a: 0, b: 2})
	if u.runPasses() != topology.Idle || u.record.epoch != epoch || len(u.attachedReplicas(u.processOf(u.record.recordedMaster.pod))) != 2 {
		t.Errorf("epoch %d became %d, and %d follow", epoch, u.record.epoch, len(u.attachedReplicas(u.processOf(u.record.recordedMaster.pod))))
	}
	if u.violation != "" {
		t.Error(u.violation)
	}
}
