package fleet

import (
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// Where the explorer starts.

// formed is a set whose operator has come to rest.
func formed(t *testing.T, nodes, w int8, storage bool) *model {
	t.Helper()
	u := newModel(nodes, w, storage)
	if u.runPasses() != topology.Idle {
		t.Fatal("it is not formed")
	}
	return u
}

// runPasses runs an operator's passes while nothing else happens and replicas catch up.
func (m *model) runPasses() (last topology.Verb) {
	known := operatorMemory{identity: m.next()}
	for range 30 {
		did, _ := m.runPass(&known)
		last = did.Do
	}
	return last
}

// runPass runs one pass, after which every replica has caught up and time has gone by.
func (m *model) runPass(known *operatorMemory) (did topology.Step, err error) {
	did, *known, err = playPass(m.read(), *known, m.answer)
	for range 12 {
		m.catchUp()
	}
	m.elapse()
	known.age(m)
	return did, err
}

// applyAll applies one transition after the other.
func (m *model) applyAll(all ...transition) {
	for _, next := range all {
		m.apply(next)
	}
}

// catchUp lets each replica hear one operation of its master.
func (m *model) catchUp() {
	for i := range m.procs {
		if p := &m.procs[i]; p.alive && !p.master && p.follows != 0 {
			m.sync(p)
		}
	}
}

// usual is a set of three that is well, and a backup of its record.
func usual(w int8, storage bool) func(*testing.T) *model {
	return func(t *testing.T) *model {
		u := formed(t, 3, w, storage)
		u.applyAll(transition{action: backedUp})
		return u
	}
}

// cold are three servers and a new object.
func cold(*testing.T) *model { return newModel(3, 1, true) }

// promotedCold is the first master, recorded and written to, before any replica has come.
func promotedCold(*testing.T) *model {
	u := newModel(3, 1, true)
	_, _, _ = playPass(u.read(), operatorMemory{identity: u.next()}, u.answer)
	u.applyAll(transition{action: wrote})
	return u
}

// emptiedNextToOlder are the files of a set of which an application had deleted all keys. A node
// that was away since before the last failover has a volume with some.
func emptiedNextToOlder(t *testing.T) *model {
	u := formed(t, 3, 2, true)
	u.applyAll(transition{action: wrote}, transition{action: caughtUp, a: 1}, transition{action: caughtUp, a: 2},
		transition{action: died, a: 2}, transition{action: died}, transition{action: booted})
	u.runPasses()
	u.applyAll(transition{action: lowered})
	u.runPasses()
	u.applyAll(transition{action: keysDeleted, a: u.record.recordedMasterNode})
	u.runPasses()
	u.applyAll(transition{action: died}, transition{action: died, a: 1})
	return u
}

// failedOver is a set whose backup is from before its last failover. The node that was master before
// that lacks a write that the other has confirmed.
func failedOver(t *testing.T) *model {
	u := formed(t, 3, 1, true)
	u.applyAll(transition{action: wrote}, transition{action: caughtUp, a: 1}, transition{action: caughtUp, a: 2}, transition{action: backedUp},
		transition{action: died}, transition{action: booted})
	u.runPasses()
	other := 3 - u.record.recordedMasterNode
	u.applyAll(transition{action: wrote, a: u.record.recordedMasterNode}, transition{action: caughtUp, a: other})
	return u
}

// snapshotsOfDifferentAge are the files of a set whose servers all ended. A replica's snapshot has both writes, which it had
// confirmed; the others were taken before the second.
func snapshotsOfDifferentAge(t *testing.T) *model {
	u := formed(t, 3, 1, true)
	u.snapshots = true
	u.applyAll(transition{action: wrote}, transition{action: caughtUp, a: 1}, transition{action: caughtUp, a: 2},
		transition{action: wrote}, transition{action: caughtUp, a: 1})
	for i := range u.procs {
		p := &u.procs[i]
		u.kill(p)
		if p.node != 1 {
			p.data = p.data[:1]
		}
	}
	return u
}

// orphaned is a set with a replica whose pod was deleted by force, and which lives on.
func orphaned(t *testing.T) *model {
	u := formed(t, 3, 1, true)
	u.applyAll(transition{action: deletedByForce, a: 2})
	return u
}

// cutOffMaster is one that only the operator reaches; the others have all that was confirmed.
func cutOffMaster(t *testing.T) *model {
	u := formed(t, 3, 1, true)
	u.applyAll(transition{action: wrote}, transition{action: caughtUp, a: 1}, transition{action: wrote},
		transition{action: cutOff, a: 0, b: 1}, transition{action: cutOff, a: 0, b: 2}, transition{action: elapsed})
	return u
}

// hungMaster is a master that hangs with a write that no one has confirmed yet.
func hungMaster(t *testing.T) *model {
	u := formed(t, 3, 1, true)
	u.applyAll(transition{action: wrote}, transition{action: stalled}, transition{action: elapsed})
	return u
}

// busyMaster is a master that a script keeps busy for longer than anything is waited for.
func busyMaster(t *testing.T) *model {
	u := formed(t, 3, 1, true)
	u.applyAll(transition{action: wrote}, transition{action: caughtUp, a: 1}, transition{action: wrote}, transition{action: scriptStarted},
		transition{action: elapsed})
	return u
}

// ghostMaster is a master whose pod was deleted by force. It lives on, and the operator has no connection left to it.
func ghostMaster(t *testing.T) *model {
	u := formed(t, 3, 1, true)
	u.asksNoGhost = true
	u.applyAll(transition{action: wrote}, transition{action: caughtUp, a: 1}, transition{action: deletedByForce})
	return u
}

// loweredW is a set of two confirmations, of which its owner has asked for one only just now.
func loweredW(t *testing.T) *model {
	u := formed(t, 3, 2, true)
	u.applyAll(transition{action: lowered})
	return u
}

// cameBack is a set whose replica has confirmed a write, died, and started without it.
func cameBack(t *testing.T) *model {
	u := formed(t, 2, 1, true)
	u.applyAll(transition{action: wrote}, transition{action: caughtUp, a: 1}, transition{action: died, a: 1},
		transition{action: startedOnSnapshot, a: 1})
	return u
}
