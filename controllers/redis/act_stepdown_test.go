package redis

import "testing"

func stepDownFor(u *universe, name string) error {
	f, redis := u.direct()
	r := &Reconciler{clock: playedClock}
	return r.act(quiet, redis, f, step{do: stepDown, nodes: []string{name}, why: reasonMasterCutOff})
}

func TestStepDownIsOneChangeOfTheMaster(t *testing.T) {
	u := led(3, false)
	u.procs[0].data = "abcd" // which nobody confirmed
	if err := stepDownFor(u, "a-2"); err != nil || !u.procs[2].master || u.procs[0].master {
		t.Fatalf("%v, masters: %t %t", err, u.procs[0].master, u.procs[2].master)
	}
	if u.record.epoch != 1 || u.record.recordEpoch != 1 || u.record.leaderNode != 2 || u.broken != "" {
		t.Errorf("the record: %+v; %s", u.record, u.broken)
	}
}

// A replica that heard its master again meanwhile has more than the one that was chosen.
func TestStepDownLeavesAnotherChoiceToTheNextPass(t *testing.T) {
	u := led(3, false)
	u.procs[1].data, u.confirmed = "ab", "abc"
	if err := stepDownFor(u, "a-1"); err == nil || u.procs[0].master || u.procs[1].master {
		t.Fatalf("%v, masters: %t %t", err, u.procs[0].master, u.procs[1].master)
	}
	if u.calm() != rest || u.record.leaderNode != 2 || u.broken != "" {
		t.Errorf("the record: %+v; %s", u.record, u.broken)
	}
}
