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
	// quotaMargin is the part of the quota, in percent, that a database must be below before its alarm is taken back, and maxRequest
	// the room for one request of the largest size that etcd accepts by default: else the next writes raise the alarm again.
	quotaMargin = 95
	maxRequest  = 3 << 19
	// worthwhile is the share of free pages, in percent, from which on a defragmentation helps a member over its quota.
	worthwhile = 10
	// WarnFrom is the share of the quota in use, in percent, from which on a human is warned.
	WarnFrom = 80
	// WarnUntil is the share at which the warning ends.
	WarnUntil = 70
	// DefragPause is the least time between two defragmentations of one member: each writes all of its data again.
	DefragPause = time.Hour
	// CompactionPause is the time between two compactions while the data itself is too much.
	CompactionPause = 10 * time.Second
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

// freeSpace ends the alarm of a quota that was exceeded: old revisions go, once, then the free pages, then the alarm. Clients may continue
// deleting meanwhile, and leases end, which makes newer revisions: these take nothing of that back. A member whose pages were freed comes
// again only if a tenth of them is free again. What is deleted later counts once all that is done, and not with each pass.
//
// A member is defragmented twice within DefragPause only if it gets below the quota by it: after that writes are accepted, and it takes
// many to exceed the quota again. A member whose volume has no room for it is left, and if it must shrink, a human is asked.
func (s Situation) freeSpace() (Step, bool) {
	i := slices.IndexFunc(s.Alarms, func(a Alarm) bool { return a.Type == AlarmNoSpace })
	if i < 0 {
		return Step{}, false
	}
	leader, isLed := s.Leader()
	if isLed && s.Status.CompactedRevision == 0 {
		return Step{Do: Compact, Member: leader.Name, Message: "the quota is exceeded"}, true
	}
	if next, ok := s.defragmentOne(s.gainsSpace); ok {
		return next, true
	}
	outdated := s.Where(func(m Member) bool { return m.Pod.Outdated }) // a new quota comes with new pods
	full := s.Where(func(m Member) bool { return m.View.DBSize > roomBelow(s.quotaOf(m)) })
	switch {
	case len(full) == 0:
		return Step{Do: Disarm, Alarm: s.Alarms[i], Message: "the data is below the quota again"}, true
	case len(outdated) > 0:
		return Step{}, false
	case isLed && !s.CompactedLately && s.Status.CompactedRevision < leader.View.Revision:
		return Step{Do: Compact, Member: leader.Name, Message: "the quota is exceeded, and keys may have been deleted since the last compaction"},
			true
	}
	message := s.Fullest().Explain()
	if crowded := s.Where(func(m Member) bool { return s.shrinksBelowQuota(m) && !m.hasRoomToDefragment() }); len(crowded) > 0 {
		m := crowded[0]
		message = fmt.Sprintf("%s is over its quota, writes are refused, and a defragmentation would end that: its disk has %d MiB, and %d "+
			"MiB are needed, because the present file stays until the next one is complete: raise %s%s", m.Name, m.Pod.DiskSize>>20,
			m.roomToDefragment()>>20, s.diskField(), s.ExplainKeptData())
	}
	return Step{Do: Block, Reason: commonv1.ReasonNoSpace, RequeueAfter: CompactionPause, Message: message}, true
}

// shrinksBelowQuota reports whether a member that is over its quota gets below it by a defragmentation.
func (s Situation) shrinksBelowQuota(m Member) bool {
	room := roomBelow(s.quotaOf(m))
	return m.View.DBSize > room && m.View.DBUsed <= room
}

// roomToDefragment is how many bytes the volume of a member must have for it: the database, what is in use of it once more, and logs.
func (m Member) roomToDefragment() int64 {
	return m.View.DBSize + m.View.DBUsed + logsOn(m.Pod.DiskSize)
}

// hasRoomToDefragment reports whether the volume of a member is large enough, or not known: without storage and limit.
func (m Member) hasRoomToDefragment() bool {
	return m.Pod.DiskSize == 0 || m.Pod.DiskSize >= m.roomToDefragment()
}

// gainsSpace reports whether a defragmentation helps a member in a cluster that is over its quota: it gets below the quota by it, or
// has many free pages in a large file.
func (s Situation) gainsSpace(m Member) bool {
	return s.shrinksBelowQuota(m) || !m.DefragmentedLately && m.freePages() >= worthwhile && m.View.DBSize >= s.quotaOf(m)/2
}

// freePages is the share of a member's database that holds no data, in percent.
func (m Member) freePages() int64 {
	if m.View.DBSize <= 0 {
		return 0
	}
	return (m.View.DBSize - m.View.DBUsed) * 100 / m.View.DBSize
}

// roomBelow is the size that a database must be below for writes to be accepted for a while.
func roomBelow(quota int64) int64 { return min(quota/100*quotaMargin, quota-maxRequest) }

// quotaOf is the quota that counts for a member: the one that its server runs with, whatever the next pods will have; theirs only if that
// is not known.
func (s Situation) quotaOf(m Member) int64 { return cmp.Or(m.quota(), s.Quota) }

// Usage is how much of its quota a member uses. The zero Usage is of no member.
type Usage struct {
	Member      string
	Used, Quota int64 // bytes: of the file those that hold data, revisions that are not compacted included
	Refused     bool  // an alarm is raised, and writes are refused
}

// Percent of the quota that is in use.
func (u Usage) Percent() int64 {
	if u.Quota <= 0 {
		return 0
	}
	return u.Used * 100 / u.Quota
}

// Explain says how much is in use, what the quota is, and what to do.
func (u Usage) Explain() string {
	follows := "etcd refuses writes when it is reached: delete keys and compact, set autoCompaction, or raise quota (and storage.size)"
	if u.Refused {
		follows = "it is exceeded (alarm NOSPACE), and writes are refused: delete keys, or raise quota (and storage.size)"
	}
	return fmt.Sprintf("%s holds %d MiB of data, old revisions included, which is %d%% of the quota of %d MiB; %s",
		u.Member, u.Used>>20, u.Percent(), u.Quota>>20, follows)
}

// Fullest is the usage of the member that uses most of its quota, of those that answer.
func (s Situation) Fullest() Usage {
	var most Usage
	for _, m := range s.Where(func(m Member) bool { return m.Record != nil && m.View.Answered }) {
		if u := (Usage{Member: m.Name, Used: m.View.DBUsed, Quota: s.quotaOf(m)}); most.Member == "" || u.Percent() > most.Percent() {
			most = u
		}
	}
	most.Refused = slices.ContainsFunc(s.Alarms, func(a Alarm) bool { return a.Type == AlarmNoSpace })
	return most
}

// defragment defragments members whose share of free pages has reached the threshold.
func (s Situation) defragment() (Step, bool) {
	if s.DefragThreshold == 0 {
		return Step{}, false
	}
	return s.defragmentOne(func(m Member) bool {
		return m.View.DBSize >= minDefragSize && m.freePages() >= int64(s.DefragThreshold) && !m.DefragmentedLately
	})
}

// defragmentOne chooses the next of the members that are fragmented and have room: the leader last, after it has handed the lead on.
func (s Situation) defragmentOne(isFragmented func(Member) bool) (Step, bool) {
	fragmented := s.Where(func(m Member) bool { return m.Record != nil && isFragmented(m) && m.hasRoomToDefragment() })
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
