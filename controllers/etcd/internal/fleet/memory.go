package fleet

import (
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// Memory is what the operator knows of the members of one object and may forget at any time.
type Memory struct {
	compacted   time.Time // when old revisions were last dropped
	access      time.Time // when etcd was last seen to let in who may
	isLockedOut bool
	hashes      hashes
	// defragmented is when each member was last defragmented, by its name: an operator that has restarted may ask for one more, which
	// costs less than to record each.
	defragmented map[string]time.Time
	logs         logs
}

// IsLockedOut reports whether the operator was locked out when it looked last.
func (m *Memory) IsLockedOut() bool { return m.isLockedOut }

// NoteAccess notes what a pass saw of who may log in, the operator among them.
func (m *Memory) NoteAccess(w membership.World, now time.Time) {
	if w.Access.IsRight() {
		m.access = now
	}
	m.isLockedOut = w.Access.LockedOut || len(w.Where(func(m membership.Member) bool { return m.View.LockedOut })) > 0
}

// compactedLately reports whether old revisions were dropped a short time ago.
func (m *Memory) compactedLately(now time.Time) bool {
	return now.Sub(m.compacted) < membership.CompactionPause
}

// noteDefragmented notes that a member has started to write its data again.
func (m *Memory) noteDefragmented(name string, now time.Time) {
	if m.defragmented == nil {
		m.defragmented = map[string]time.Time{}
	}
	m.defragmented[name] = now
}

// defragmentedLately reports whether a member has written its data again within the last hour.
func (m *Memory) defragmentedLately(name string, now time.Time) bool {
	last, ok := m.defragmented[name]
	return ok && now.Sub(last) < membership.DefragPause
}
