package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// modelSpace is how much space the members' databases take, in MiB. Without a Quota it is not simulated.
type modelSpace struct {
	Quota int
	Live  int                        // that keys take
	Dead  int                        // that revisions take which a compaction drops
	Files [membership.MaxSize]int    // that the databases take on disk
	Full  [membership.MaxSize]uint64 // members that have raised the alarm of their quota; 0 for none
	// Deletes is how often users may yet delete keys.
	Deletes int
}

// deleted is what users delete at once.
const deleted = 3

// full is a cluster whose members exceed their quota, and refuse writes. Users may delete keys up to that often: after two times the rest
// is below the quota, and so is the file once a defragmentation has given back a few percent of its pages.
func full(size int32, deletes int) *model {
	m := formed(size, size, true)
	m.Quota, m.Live, m.Deletes = 100, 100, deletes
	for i := range size {
		m.Files[i], m.Full[i] = 101, m.Volumes[i].ID
	}
	m.Full[size-1] = 0 // it is yet to notice
	return m
}

// alarms are the members that have raised one.
func (m *model) alarms() []membership.Alarm {
	var list []membership.Alarm
	for _, id := range m.Full {
		if id != 0 {
			list = append(list, membership.Alarm{ID: id, Type: membership.AlarmNoSpace})
		}
	}
	return list
}

// showSpace adds to what a member says of itself.
func (m *model) showSpace(i int, view *membership.View) {
	if m.Quota > 0 {
		view.Quota, view.DBSize, view.DBUsed, view.HasAlarms = int64(m.Quota)<<20, int64(m.Files[i])<<20, int64(m.Live+m.Dead)<<20,
			len(m.alarms()) > 0
	}
}

// refusesWrites reports whether an alarm is raised. Keys can be deleted all the same.
func (m *model) refusesWrites() bool { return len(m.alarms()) > 0 }

// checkSpace returns an error if no alarm is raised and a member exceeds its quota: the next write would raise one again.
func (m *model) checkSpace() error {
	for _, member := range m.Raft {
		if i := ordinalOf(member.Name); m.Quota > 0 && !m.refusesWrites() && m.runs(i, member.ID) && m.Files[i] > m.Quota {
			return broken("no alarm is raised, and " + member.Name + " exceeds its quota")
		}
	}
	return nil
}

// hasSpace reports whether writes are accepted, or too much data is left for that.
func (m *model) hasSpace() bool { return !m.refusesWrites() || m.Live > m.Quota*95/100 }

// spaceActions are those of a cluster that exceeds its quota.
func spaceActions() []action {
	return []action{
		{"users delete keys", func(m *model) (bool, error) {
			if m.Deletes == 0 || !m.write() {
				return false, nil
			}
			m.Deletes--
			m.Live, m.Dead = m.Live-deleted, m.Dead+deleted
			return true, nil
		}},
		{"a member notices that its quota is exceeded", func(m *model) (bool, error) {
			for _, member := range m.Raft {
				i := ordinalOf(member.Name)
				if m.refusesWrites() && m.runs(i, member.ID) && m.Files[i] > m.Quota && !slices.Contains(m.Full[:], member.ID) {
					m.Full[slices.Index(m.Full[:], 0)] = member.ID
					return true, nil
				}
			}
			return false, nil
		}},
	}
}

func (m *modelServer) Alarms(context.Context) ([]membership.Alarm, error) {
	if !m.hears() {
		return nil, errNoQuorum
	}
	return m.alarms(), nil
}

func (m *modelServer) Compact(_ context.Context, revision int64) error {
	return m.call(func() error {
		if !m.hears() {
			return errNoQuorum
		}
		if revision > int64(m.Writes) { // what was deleted later stays
			m.Dead = 0
		}
		return nil
	})
}

func (m *modelServer) Defragment(context.Context) error {
	return m.call(func() error {
		one := m.raft(m.Volumes[m.ordinal].ID)
		if !m.Pods[m.ordinal].Runs || one == nil {
			return errors.New("no server answers")
		}
		if m.seen == nil && m.leader() == one.ID && m.hasAnotherVoter(one.ID) { // for one that was stopped meanwhile, it may have come to lead
			return broken(fmt.Sprintf("%s is defragmented while it leads, and another could", one.Name))
		}
		m.Files[m.ordinal] = m.Live + m.Dead
		return nil
	})
}

// leadersFile is how large the database of the leader is: a new member gets all of it, free pages included.
func (m *model) leadersFile() int {
	if one := m.raft(m.leader()); one != nil {
		return m.Files[ordinalOf(one.Name)]
	}
	return 0
}

// hasAnotherVoter reports whether another voter than that one runs.
func (m *model) hasAnotherVoter(id uint64) bool {
	return slices.ContainsFunc(m.Raft, func(o modelMember) bool {
		return o.ID != id && !o.Learner && m.runs(ordinalOf(o.Name), o.ID)
	})
}

func (m *modelServer) Disarm(_ context.Context, alarm membership.Alarm) error {
	return m.call(func() error {
		if !m.hears() {
			return errNoQuorum
		}
		if i := slices.Index(m.Full[:], alarm.ID); i >= 0 {
			m.Full[i] = 0
		}
		return nil
	})
}
