package membership

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

const (
	// minDefragSize is the size of a database, in bytes, below which it is not worth while to defragment it.
	minDefragSize = 16 << 20
	// quotaMargin is the part of the quota, in percent, that a database must be below before its alarm is taken back: else the
	// next writes raise it again.
	quotaMargin = 95
	// worthwhile is the share of free pages, in percent, from which on a defragmentation helps a member over its quota.
	worthwhile = 10
)

// disarmFormer takes back the alarm of a member that is one no more.
func (s Situation) disarmFormer() (Step, bool) {
	for _, a := range s.Alarms {
		if len(s.Where(func(m Member) bool { return m.Listed != nil && m.Listed.ID == a.ID })) == 0 {
			return Step{Do: Disarm, Alarm: a, Message: "its member is gone"}, true
		}
	}
	return Step{}, false
}

// freeSpace ends the alarm of a quota that was exceeded: old revisions go, then the free pages, then the alarm.
func (s Situation) freeSpace() (Step, bool) {
	i := slices.IndexFunc(s.Alarms, func(a Alarm) bool { return a.Type == AlarmNoSpace })
	if i < 0 {
		return Step{}, false
	}
	if leader, ok := s.Leader(); ok && s.Status.CompactedRevision < leader.View.Revision {
		return Step{Do: Compact, Member: leader.Name, Message: "the quota is exceeded"}, true
	}
	if next, ok := s.defragmentOne(worthwhile, 0); ok {
		return next, true
	}
	// A new quota comes with new pods, and 3.5 does not tell which one it has.
	outdated := s.Where(func(m Member) bool { return m.Pod.Outdated })
	full := s.Where(func(m Member) bool {
		return m.View.DBSize > min(s.Quota, cmp.Or(m.View.Quota, s.Quota))/100*quotaMargin || m.View.Quota == 0 && m.Pod.Outdated
	})
	if len(full) == 0 {
		return Step{Do: Disarm, Alarm: s.Alarms[i], Message: "the data is below the quota again"}, true
	}
	return Step{Do: Block, Reason: commonv1.ReasonNoSpace, RequeueAfter: 10 * time.Second, Message: fmt.Sprintf(
		"%s holds %d MiB of data, and the quota is %d MiB: no writes are taken; delete keys, or raise quota (and storage.size)",
		full[0].Name, full[0].View.DBUsed>>20, s.Quota>>20)}, len(outdated) == 0
}

// defragment defragments members whose share of free pages has reached the threshold.
func (s Situation) defragment() (Step, bool) {
	if s.DefragThreshold == 0 {
		return Step{}, false
	}
	return s.defragmentOne(s.DefragThreshold, minDefragSize)
}

// defragmentOne chooses the next member whose share of free pages has reached so many percent: the leader last, after it has
// handed the lead on.
func (s Situation) defragmentOne(percent int32, atLeast int64) (Step, bool) {
	fragmented := s.Where(func(m Member) bool {
		size := m.View.DBSize
		return m.Record != nil && size >= atLeast && size > 0 && (size-m.View.DBUsed)*100/size >= int64(percent)
	})
	if len(fragmented) == 0 {
		return Step{}, false
	}
	leader, _ := s.Leader()
	if i := slices.IndexFunc(fragmented, func(m Member) bool { return m.Name != leader.Name }); i >= 0 {
		return Step{Do: Defragment, Member: fragmented[i].Name}, true
	}
	if next, ok := s.moveLeaderFrom(leader); ok {
		return next, true
	}
	return Step{Do: Defragment, Member: leader.Name}, true // the only member
}
