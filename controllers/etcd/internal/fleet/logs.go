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
func (l seenLog) note(m membership.Member) seenLog {
	if l.dataID != m.Record.DataID {
		l = seenLog{dataID: m.Record.DataID}
	}
	if l.container != m.Pod.Container {
		l = seenLog{dataID: l.dataID, container: m.Pod.Container, durable: l.durable}
	}
	if m.View.Index > l.committed {
		if l.committed > l.durable.Index {
			l.durable = wal.End{Term: max(l.before, l.durable.Term), Index: l.committed}
		}
		l.committed, l.before = m.View.Index, l.term
	}
	l.term = max(l.term, m.View.Term)
	return l
}

// noteLogs notes what a look has shown of the members' logs.
func (m *Memory) noteLogs(members []membership.Member) {
	if m.logs == nil {
		m.logs = map[string]seenLog{}
	}
	for _, one := range members {
		if one.View.Answered && one.Record != nil && one.Record.Ran && !one.IsOfFormerMember() && one.Pod.Container != "" {
			m.logs[one.Name] = m.logs[one.Name].note(one)
		}
	}
}

// RecordLogs records how far the logs of the members are on their disks: of all once in a while, and at once of those that the status
// shows as unhealthy, which is written anyway. It is not part of the record of who is a member, and is saved with the rest of the status.
func (f *Fleet) RecordLogs() {
	status, now := &f.Cluster.Status, f.Clock.Now()
	if status.Membership == nil || f.Situation().IsRecovering() {
		f.Memory.logs = nil // a cluster of one drops what it does not know to be confirmed, and keeps its data directory
		return
	}
	isDue := now.Sub(f.Memory.logsRecorded) >= logPause
	var logs []databasev1alpha1.EtcdDurableLog
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
			log = f.Memory.logs[recorded.Name].extend(log)
		}
		if log.Index > 0 {
			logs = append(logs, log)
		}
	}
	if isDue && !slices.Equal(logs, status.DurableLogs) {
		f.Memory.logsRecorded = now
	}
	status.DurableLogs = logs
}

// extend returns a record of a log with what looks have shown since.
func (l seenLog) extend(log databasev1alpha1.EtcdDurableLog) databasev1alpha1.EtcdDurableLog {
	if l.dataID == log.DataID {
		log.Index, log.Term = max(log.Index, asRecorded(l.durable.Index)), max(log.Term, asRecorded(l.durable.Term))
	}
	return log
}

// asRecorded is a number of a log in the API, which has no larger ones.
func asRecorded(n uint64) int64 { return int64(min(n, math.MaxInt64)) }
