package fleet

import (
	"math"
	"slices"
	"time"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher/wal"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// logPause is the time between two records of how far the logs are, in which the status is written for that alone: 0.1 writes a minute.
const logPause = 10 * time.Minute

// seenLog is what looks have shown of a member's log.
type seenLog struct {
	dataID    string  // to which durable belongs
	container string  // of the server, to which the rest belongs
	committed uint64  // the last entry that it knows to be committed
	term      uint64  // of an entry that it had applied then
	before    uint64  // the same, before it knew of that entry
	durable   wal.End // an entry that is on the disk for certain
}

// note adds a look. A server learns which entry is committed before it has written that entry to the disk, but of a later one only after
// (start in etcd's server/etcdserver/raft.go: updateCommittedIndex comes before storage.Save, and the next Ready after it). So an
// entry is durable once the same server knows of a later one. The term is one that was seen before: what is reported with an entry may
// be the term of the next.
func (s seenLog) note(m membership.Member) seenLog {
	if s.dataID != m.Record.DataID {
		s = seenLog{dataID: m.Record.DataID}
	}
	if s.container != m.Pod.Container {
		s = seenLog{dataID: s.dataID, container: m.Pod.Container, durable: s.durable}
	}
	if m.View.Index > s.committed {
		if s.committed > s.durable.Index {
			s.durable = wal.End{Term: max(s.before, s.durable.Term), Index: s.committed}
		}
		s.committed, s.before = m.View.Index, s.term
	}
	s.term = max(s.term, m.View.Term)
	return s
}

// logs is what looks have shown of the members' logs.
type logs struct {
	seen     map[string]seenLog // by the member's name
	recorded time.Time          // when that was last recorded for all: an operator that has restarted may record it once more
}

// note notes what a look has shown.
func (l *logs) note(members []membership.Member) {
	if l.seen == nil {
		l.seen = map[string]seenLog{}
	}
	for _, m := range members {
		if m.View.Answered && m.Record != nil && m.Record.Ran && !m.IsOfFormerMember() && m.Pod.Container != "" {
			l.seen[m.Name] = l.seen[m.Name].note(m)
		}
	}
}

// record puts how far the logs of the members are into the status: of all once in a while, and at once of those that the status shows
// as unhealthy, which is written anyway. It is not part of the record of who is a member.
func (l *logs) record(status *databasev1alpha1.EtcdClusterStatus, now time.Time) {
	isDue := now.Sub(l.recorded) >= logPause
	var next []databasev1alpha1.EtcdDurableLog
	for _, recorded := range status.Membership.Members {
		log := databasev1alpha1.EtcdDurableLog{Name: recorded.Name, DataID: recorded.DataID}
		if i := slices.IndexFunc(status.DurableLogs, func(former databasev1alpha1.EtcdDurableLog) bool {
			return former.Name == log.Name && former.DataID == log.DataID
		}); i >= 0 {
			log = status.DurableLogs[i]
		}
		isHealthy := slices.ContainsFunc(status.Members, func(seen databasev1alpha1.EtcdMember) bool {
			return seen.Name == log.Name && seen.Healthy
		})
		if isDue || !isHealthy {
			log = l.seen[log.Name].extend(log)
		}
		if log.Index > 0 {
			next = append(next, log)
		}
	}
	if isDue && !slices.Equal(next, status.DurableLogs) {
		l.recorded = now
	}
	status.DurableLogs = next
}

// extend returns a record of a log with what looks have shown since.
func (s seenLog) extend(log databasev1alpha1.EtcdDurableLog) databasev1alpha1.EtcdDurableLog {
	if s.dataID == log.DataID {
		log.Index, log.Term = max(log.Index, asRecorded(s.durable.Index)), max(log.Term, asRecorded(s.durable.Term))
	}
	return log
}

// asRecorded is a number of a log in the API, which has no larger ones.
func asRecorded(n uint64) int64 { return int64(min(n, math.MaxInt64)) }
