package redis

import "testing"

// Where the explorer begins.

// formed is a set whose operator has come to rest.
func formed(t *testing.T, nodes, w int8, storage bool) *universe {
	t.Helper()
	u := newUniverse(nodes, w, storage)
	if u.calm() != rest {
		t.Fatal("it is not formed")
	}
	return u
}

// calm goes by: an operator passes while nothing else happens, and replicas catch up.
func (u *universe) calm() (last verb) {
	var known recollection
	for range 30 {
		did, _ := u.goOn(&known)
		last = did.do
	}
	return last
}

// goOn with one pass, after which every replica has caught up and time has gone by.
func (u *universe) goOn(known *recollection) (did step, err error) {
	did, *known, err = pass(u.read(), *known, u.answer)
	for range 12 {
		u.catchUp()
	}
	u.elapse()
	known.age(u)
	return did, err
}

// undergo what happens.
func (u *universe) undergo(all ...turn) {
	for _, one := range all {
		u.happen(one)
	}
}

// catchUp lets each replica hear one operation of its master.
func (u *universe) catchUp() {
	for i := range u.procs {
		if p := &u.procs[i]; p.alive && !p.master && p.follows != 0 {
			u.sync(p)
		}
	}
}

// usual is a set of three that is well, and a backup of its record.
func usual(w int8, storage bool) func(*testing.T) *universe {
	return func(t *testing.T) *universe {
		u := formed(t, 3, w, storage)
		u.undergo(turn{what: backedUp})
		return u
	}
}

// cold are three servers and a new object.
func cold(*testing.T) *universe { return newUniverse(3, 1, true) }

// promotedCold is the first master, recorded and written to, before any replica has come.
func promotedCold(*testing.T) *universe {
	u := newUniverse(3, 1, true)
	_, _, _ = pass(u.read(), recollection{}, u.answer)
	u.undergo(turn{what: wrote})
	return u
}

// emptiedBesideOlder are the files of a set of which an application had deleted all keys. A node
// that was away since before the last failover has a volume with some.
func emptiedBesideOlder(t *testing.T) *universe {
	u := formed(t, 3, 2, true)
	u.undergo(turn{what: wrote}, turn{what: caughtUp, a: 1}, turn{what: caughtUp, a: 2}, turn{what: died, a: 2}, turn{what: died}, turn{what: booted})
	u.calm()
	u.undergo(turn{what: lowered})
	u.calm()
	u.undergo(turn{what: drained, a: u.record.leaderNode})
	u.calm()
	u.undergo(turn{what: died}, turn{what: died, a: 1})
	return u
}

// failedOver is a set whose backup is from before its last failover. The node that was master before
// that lacks a write that the other has confirmed.
func failedOver(t *testing.T) *universe {
	u := formed(t, 3, 1, true)
	u.undergo(turn{what: wrote}, turn{what: caughtUp, a: 1}, turn{what: caughtUp, a: 2}, turn{what: backedUp},
		turn{what: died}, turn{what: booted})
	u.calm()
	other := 3 - u.record.leaderNode
	u.undergo(turn{what: wrote, a: u.record.leaderNode}, turn{what: caughtUp, a: other})
	return u
}

// orphaned is a set with a replica whose pod was deleted by force, and which lives on.
func orphaned(t *testing.T) *universe {
	u := formed(t, 3, 1, true)
	u.undergo(turn{what: deletedByForce, a: 2})
	return u
}

// cutOffMaster is one that only the operator reaches; the others have all that was confirmed.
func cutOffMaster(t *testing.T) *universe {
	u := formed(t, 3, 1, true)
	u.undergo(turn{what: wrote}, turn{what: caughtUp, a: 1}, turn{what: wrote},
		turn{what: cutOff, a: 0, b: 1}, turn{what: cutOff, a: 0, b: 2}, turn{what: elapsed})
	return u
}

// loweredW is a set of two confirmations, of which its owner has asked for one only just now.
func loweredW(t *testing.T) *universe {
	u := formed(t, 3, 2, true)
	u.undergo(turn{what: lowered})
	return u
}

// cameBack is a set whose replica has confirmed a write, died, and started without it.
func cameBack(t *testing.T) *universe {
	u := formed(t, 2, 1, true)
	u.undergo(turn{what: wrote}, turn{what: caughtUp, a: 1}, turn{what: died, a: 1}, turn{what: startedBack, a: 1})
	return u
}
