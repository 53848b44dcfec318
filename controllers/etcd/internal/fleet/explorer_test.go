package fleet

import (
	"fmt"
	"iter"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/test/explore"
)

// TestEveryOrderKeepsTheMajority searches all orders of events from a start, up to a number of states, with FULL=1.
func TestEveryOrderKeepsTheMajority(t *testing.T) {
	before := debug.SetGCPercent(400) // nearly all garbage is small and short-lived
	t.Cleanup(func() { debug.SetGCPercent(before) })
	played, rows := map[string]int{}, 0
	table := []struct {
		name            string
		start           *model
		faults, crashes int
		limit           int
	}{
		{"three form a cluster, one crash", newModel(3, true), 0, 1, 60_000},
		{"three form a cluster, one fault", newModel(3, true), 1, 0, 30_000},
		{"three form on volumes of which two have the data of another cluster, one crash", onForeignVolumes(), 0, 1, 8_000},
		{"two of three have lost their volumes before they were seen to form, one crash", lostWhileForming(), 0, 1, 1_500},
		{"a cluster of three, one fault and one crash", formed(3, 3, true), 1, 1, 60_000},
		{"a cluster of three without storage, one fault and one crash", formed(3, 3, false), 1, 1, 60_000},
		{"one becomes three, one crash", formed(1, 3, true), 0, 1, 60_000},
		{"one becomes three, one fault", formed(1, 3, true), 1, 0, 60_000},
		{"five become three, one crash", formed(5, 3, true), 0, 1, 60_000},
		{"a majority is lost, one fault", lostMajority(3), 1, 0, 60_000},
		{"a majority is lost, one crash", lostMajority(3), 0, 1, 60_000},
		{"a majority is lost, and the node of another loses power", failingPower(lostMajority(3)), 0, 0, 8_000},
		{"a majority of five is lost", lostMajority(5), 0, 0, 10_000},
		{"five are recreated, one of which has lost its volume", outdatedWithoutOne(), 0, 0, 5_000},
		{"one starts with a backup, one crash", newFromBackup(1, true), 0, 1, 20_000},
		{"three start with a backup, one fault", newFromBackup(3, true), 1, 0, 30_000},
		{"one starts with a backup without storage, one fault and one crash", newFromBackup(1, false), 1, 1, 20_000},
		{"a backup takes the place of one's data, one fault and one crash", replaced(1, true), 1, 1, 30_000},
		{"a backup takes the place of three's data, one crash", replaced(3, true), 0, 1, 30_000},
		{"a backup takes the place of three's data, one fault", replaced(3, true), 1, 0, 30_000},
		{"a backup takes the place of data without storage, one crash", replaced(3, false), 0, 1, 20_000},
		{"a backup takes the place of what a lost majority has left", replacedWithoutMajority(), 0, 1, 20_000},
		{"three without storage get a template by mistake that never starts, one crash",
			editing(formed(3, 3, false), isUnschedulable, 1), 0, 1, 15_000},
		{"three without storage form with a template that never starts, one crash",
			editing(newModel(3, false), isUnschedulable, 2), 0, 1, 8_000},
		{"three without storage form with a template that never starts, one fault",
			editing(newModel(3, false), isUnschedulable, 1), 1, 0, 6_000},
		{"three form with a template that never starts, one crash", editing(newModel(3, true), isUnschedulable, 1), 0, 1, 6_000},
		{"three without storage get an image by mistake that cannot be pulled, one crash",
			editing(formed(3, 3, false), cannotBePulled, 1), 0, 1, 15_000},
		{"three without storage form with an image that cannot be pulled, one crash",
			editing(newModel(3, false), cannotBePulled, 1), 0, 1, 8_000},
		{"one becomes three with an image by mistake that cannot be pulled, one fault",
			editing(formed(1, 3, false), cannotBePulled, 1), 1, 0, 8_000},
		{"three are to be five, and are not, one crash", resizing(formed(3, 3, true), 5), 0, 1, 15_000},
		{"three without storage are to be one, and are not, one crash", resizing(formed(3, 3, false), 1), 0, 1, 15_000},
		{"three form, are to be one, and are not", resizing(newModel(3, true), 1), 0, 0, 6_000},
		{"three are to go to the next minor version, and are not, one crash", reversioning(formed(3, 3, true), 1), 0, 1, 15_000},
		{"two of three run the next minor version, and are to return, one fault and one crash", halfUpgraded(), 1, 1, 12_000},
		{"three are to go to a minor version whose image cannot be pulled, and are not, one fault",
			withoutNextImage(reversioning(formed(3, 3, true), 1)), 1, 0, 8_000},
		{"three are to go to the next minor version after a backup, are not, and are, one crash",
			reversioning(scheduled(formed(3, 3, true)), 2), 0, 1, 6_000},
		{"three form, are to have the next minor version, and are not", reversioning(newModel(3, true), 1), 0, 0, 6_000},
		{"three form with too little memory", editing(newModel(3, true), isKilled, 2), 0, 0, 6_000},
		{"three without storage get too little memory, one crash", editing(formed(3, 3, false), isKilled, 1), 0, 1, 15_000},
		{"three without storage have too little memory, and one is killed while the operator is stopped",
			killing(editing(formed(3, 3, false), isKilled, 1), 2), 0, 1, 24_000},
		{"one becomes three with a template by mistake that never starts, one crash",
			editing(formed(1, 3, false), isUnschedulable, 1), 0, 1, 15_000},
		{"three go to the next minor version after a backup, one crash", upgrading(3), 0, 1, 10_000},
		{"three go to the next minor version after a backup, one fault", upgrading(3), 1, 0, 10_000},
		{"three of which one is behind go to the next minor version after a backup, one crash", upgradingWithOneBehind(), 0, 1, 8_000},
		{"three are recreated while nodes are drained, one crash", outdated(3, true), 0, 1, 60_000},
		{"the node of one of three is silent, and another has a template by mistake that never starts, one crash",
			deadWhileMistaken(), 0, 1, 10_000},
		{"an operator that was stopped next to the only member wakes among three, while a node is drained", wakingAmongThree(), 0, 0, 3_000},
		{"three become one while a node is drained, one crash", shrinking(true), 0, 1, 15_000},
		{"three become one, and their claims go, one crash", shrinking(false), 0, 1, 15_000},
		{"somebody changes the StatefulSet of three, or a claim, one crash", meddled(formed(3, 3, true), 1), 0, 1, 15_000},
		{"one is to be recreated, and somebody deletes its claim before the operator acts", meddled(outdatedAlone(), 1), 0, 1, 5_000},
		{"a majority is lost, and somebody deletes a claim", meddled(lostMajority(3), 1), 0, 0, 15_000},
		{"three exceed their quota, and users delete keys, one crash", full(3, 2), 0, 1, 15_000},
		{"three exceed their quota, and users delete keys, one fault", full(3, 2), 1, 0, 15_000},
		{"three without storage have formed a cluster that the caches do not show, two faults", formedBehindCaches(), 2, 0, 4_000},
		{"three become five while caches are behind, one crash", lagging(resizing(formed(3, 5, true), 3), 1), 0, 1, 15_000},
		{"three are recreated while caches are behind, one crash", lagging(outdated(3, true), 1), 0, 1, 15_000},
		{"three of which one is lost, and the API server is put back, one fault", puttingBack(formed(3, 3, true)), 1, 0, 20_000},
		{"one becomes three, and the API server is put back", puttingBack(formed(1, 3, true)), 0, 0, 15_000},
		{"three become one, and the API server is put back", puttingBack(formed(3, 1, true)), 0, 0, 15_000},
		{"three form a cluster, and the API server is put back, one fault", puttingBack(forming()), 1, 0, 15_000},
		{"three are deleted and applied again, one crash", deleting(formed(3, 3, true)), 0, 1, 8_000},
		{"three are deleted and applied again, one fault", deleting(formed(3, 3, true)), 1, 0, 8_000},
		{"one becomes three, is deleted and applied again, one crash", deleting(formed(1, 3, true)), 0, 1, 8_000},
		{"three become one, are deleted and applied again, one crash", deleting(formed(3, 1, true)), 0, 1, 8_000},
		{"three become one, are three again, are deleted and applied again", deleting(resizing(formed(3, 1, true), 3)), 0, 0, 8_000},
		{"three form a cluster, are deleted and applied again, one crash", deleting(newModel(3, true)), 0, 1, 8_000},
		{"three of which a majority is lost are deleted and applied again, one crash", deleting(lostMajority(3)), 0, 1, 8_000},
		{"a backup takes the place of three's data, and they are deleted and applied again", deleting(replaced(3, true)), 0, 0, 8_000},
		{"three are deleted and applied again while caches are behind", deleting(lagging(outdated(3, true), 1)), 0, 0, 8_000},
		{"three are deleted and applied again, and the API server is put back", deleting(puttingBack(formed(3, 3, true))), 0, 0, 8_000},
		{"two of three have been replaced since the API server was backed up, and it is put back", replacedSinceBackup(), 0, 0, 5_000},
		{"three without storage are recreated while nodes are drained, one crash", outdated(3, false), 0, 1, 10_000},
		{"the disk of one of three is put back, one crash", withOldDisks(3, 1), 0, 1, 8_000},
		{"the disk of one of three is put back, one fault", withOldDisks(3, 1), 1, 0, 8_000},
		{"the disk of the only one is put back", withOldDisks(1, 1), 0, 0, 3_000},
	}
	for _, c := range table {
		t.Run(c.name, func(t *testing.T) {
			rows++
			start := c.start.clone()
			start.Faults, start.Crashes = c.faults, c.crashes
			if err := start.clone().settle(); err != nil {
				t.Fatal(err)
			}
			var workers []*explorer
			possible := actionsOf(start)
			search := explore.Search[*model, int]{Start: start, Limit: c.limit, RestEvery: 19, NewModel: func() explore.Model[*model, int] {
				workers = append(workers, newExplorer(possible))
				return workers[len(workers)-1]
			}}
			found, healed, all := search.Run(), 0, possible
			for _, x := range workers {
				healed += x.healed
				for i, times := range x.played {
					played[all[i].kind()] += times
				}
			}
			if found.Fault != nil {
				var words strings.Builder
				for _, move := range found.Fault.Way {
					fmt.Fprintf(&words, "\n  %s", all[move].name)
				}
				t.Fatalf("%v, after %d states and %d events:%s", found.Fault.Err, found.States, len(found.Fault.Way), words.String())
			}
			t.Logf("%d states, depth %d, %d of which were seen to heal", found.States, found.Depth, healed)
		})
	}
	if rows < len(table) || !explore.IsFull() {
		return // not all was searched
	}
	for _, a := range actionsOf(ofAllActions()) {
		if played[a.kind()] == 0 {
			t.Errorf("%q was never played: no search says anything about it", a.kind())
		}
	}
}

// checkAfter returns which promise is broken, by the model itself or on the way from the one before.
func (m *model) checkAfter(before *model) error {
	switch isFault := m.isFault(before); {
	case !isFault && before.keepsWrites() && !m.keepsWrites():
		return broken("no majority has what was confirmed, without any fault")
	case !isFault && len(before.Raft) > 1 && before.hasQuorum() && !m.hasQuorum():
		return broken("no majority runs, without any fault")
	}
	return m.check()
}

// isFault reports whether something other than the operator may have caused the step from that model to this one.
func (m *model) isFault(before *model) bool {
	// A single member that no budget keeps can be drained.
	isDrained := m.Drains != before.Drains && len(before.Raft) == 1
	isDeleted := m.Deletions != before.Deletions || m.formerPods() != before.formerPods()
	return m.Faults != before.Faults || m.DiskFaults != before.DiskFaults || m.Kills != before.Kills || isDeleted ||
		m.Meddles != before.Meddles || m.PutBacks != before.PutBacks || m.PowerFailures != before.PowerFailures ||
		isDrained || m.isReplacing()
}

// ofAllActions is a model to which everything can happen.
func ofAllActions() *model {
	m := newModel(3, true)
	m.Volumes[0].Left[0] = anothers
	m.Backup, m.Scheduled, m.Edits, m.Kills, m.Meddles, m.NodeReturns, m.Lags, m.Quota = 1, true, 1, 1, 1, 1, 1, 1
	m.PutBacks, m.PowerFailures, m.Deletions, m.RecordsLogs = 1, 1, 1, true
	return m
}

// explorer is one worker's model: the moves are places among the actions. It counts how often each was played, and after how many
// states the cluster was seen to heal.
type explorer struct {
	actions []action
	played  []int
	healed  int
	spare   *model // that nothing refers to
}

// wholePass is the place of a pass that is not killed, before those that are.
const wholePass = 0

func newExplorer(all []action) *explorer {
	return &explorer{actions: all, played: make([]int, len(all))}
}

func (e *explorer) Successors(from *model) iter.Seq2[int, *model] {
	return func(yield func(int, *model) bool) {
		for i := range e.actions {
			if next := e.play(from, i); next != nil && !yield(i, next) {
				return
			}
		}
	}
}

func (e *explorer) Apply(from *model, move int) *model { return e.play(from, move) }

// play an action; nil if it cannot happen.
func (e *explorer) play(from *model, move int) *model {
	next := from.cloneInto(e.spare)
	happened, err := e.actions[move].happen(next)
	if move == wholePass {
		from.passCalls = next.passCalls // for those that are killed
	}
	if next.passCalls = 0; !happened {
		e.spare = next
		return nil
	}
	e.spare = nil
	e.played[move]++
	if err == nil {
		err = next.checkAfter(from)
	}
	if err != nil {
		next.violation = fmt.Errorf("%w: %s", err, next)
	}
	return next
}

func (*explorer) Key(m *model) uint64 { return m.key() }

func (*explorer) Check(m *model) error { return m.violation }

// CheckRest returns an error if the cluster does not heal by itself although it can.
func (e *explorer) CheckRest(m *model) error {
	if !m.canHeal() {
		return nil
	}
	e.healed++
	return m.clone().settleBy(e.actions)
}
