package fleet

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher/wal"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// modelDisks is what is known of disks that may be put back to an earlier state. Without RecordsLogs it is not simulated.
type modelDisks struct {
	RecordsLogs bool
	// Logs is what the operator remembers of looks, until it is killed.
	Logs [membership.MaxSize]seenLog
	// DiskFaults is how many disks may yet be put back.
	DiskFaults int
}

// withOldDisks is a cluster at rest whose logs are recorded, and of which so many disks may be put back. A human looks twice.
func withOldDisks(size int32, faults int) *model {
	m := formed(size, size, true)
	m.RecordsLogs, m.DiskFaults, m.Humans = true, faults, 2
	for range 3 {
		if _, err := runPass(0)(m); err != nil {
			panic(err)
		}
		m.write()
	}
	return m
}

// memory is what the operator remembers.
func (m *model) memory() *Memory {
	memory := &Memory{}
	if m.RecordsLogs {
		memory.logs.seen = map[string]seenLog{}
		for i, log := range m.Logs {
			memory.logs.seen[m.spec().MemberName(int32(i))] = log //nolint:gosec // at most 5
		}
	}
	return memory
}

// recordLogs saves how far logs are, as the end of a pass does. An operator that is killed remembers nothing.
func (m *modelEffects) recordLogs(f *Fleet) error {
	if !m.RecordsLogs || m.seen != nil {
		return nil
	}
	before := slices.Clone(m.object.Status.DurableLogs)
	f.RecordLogs()
	m.Logs = [membership.MaxSize]seenLog{}
	if m.dieAfter == 0 {
		for name, log := range f.Memory.logs.seen {
			m.Logs[ordinalOf(name)] = log
		}
	}
	if slices.Equal(before, m.object.Status.DurableLogs) {
		return nil
	}
	return m.Save(context.Background())
}

// checkLog is the launcher's: it reports whether the log has the entry that the permit names.
func (m *model) checkLog(i int, permit launcher.Permit) bool {
	end := wal.End{Index: m.Volumes[i].index()}
	if permit.Log == nil || !end.IsBelow(*permit.Log) {
		return true
	}
	m.Pods[i].Lost, m.Pods[i].Earlier = permit.Data, max(1, end.Index)
	return false
}

// checkDisks returns an error if a member runs on an earlier state of its disk.
func (m *model) checkDisks() error {
	for _, item := range m.Raft {
		if i := ordinalOf(item.Name); m.RecordsLogs && item.Voted && m.runs(i, item.ID) && m.Volumes[i].Old {
			return broken(item.Name + " runs under an ID that has voted, on an earlier state of its disk")
		}
	}
	return nil
}

// recordedIndex is the entry that is recorded of the log on a volume; 0 if there is none.
func (m *model) recordedIndex(i int) uint64 {
	for _, log := range m.Status.DurableLogs {
		if ordinalOf(log.Name) == i && log.DataID == m.Volumes[i].DataID {
			return uint64(log.Index) //nolint:gosec // small
		}
	}
	return 0
}

// diskActions put a disk back behind its claim, to a state before the recorded entry. That takes longer than the operator needs to see
// that the server is silent: the pod that starts on it is another, or has been given the recorded entry.
func diskActions() []action {
	var list []action
	for i := range membership.MaxSize {
		list = append(list, action{fmt.Sprintf("the disk of volume %d is put back", i), func(m *model) (bool, error) {
			earlier := m.Volumes[i]
			earlier.Writes, earlier.Old = 0, true
			if m.DiskFaults == 0 || earlier.ID == 0 || m.Pods[i].UID == "" || earlier.index() >= m.recordedIndex(i) {
				return false, nil
			}
			m.DiskFaults--
			m.Pods[i].Runs = false
			if permit, _ := membership.ParsePermit(m.Pods[i].Permit); permit.Log == nil || permit.Log.Index <= earlier.index() {
				m.removePod(i)
			}
			m.Volumes[i] = earlier
			m.Held = min(m.Held, m.held())
			return true, nil
		}})
	}
	return list
}

// TestDisksThatWereAllPutBack shows that nothing starts on them until a human allows it, and that the cluster continues from one then.
func TestDisksThatWereAllPutBack(t *testing.T) {
	for _, size := range []int32{1, 3} {
		m := withOldDisks(size, int(size))
		before := m.Writes
		for i := range m.DiskFaults {
			if happened, err := diskActions()[i].happen(m); !happened || err != nil {
				t.Fatalf("%v, %v: %s", happened, err, m)
			}
		}
		waiting := m.clone()
		if waiting.Humans = 0; waiting.settle() == nil {
			t.Errorf("a cluster of %d continues without a human: %s", size, waiting)
		}
		if err := m.settle(); err != nil {
			t.Fatal(err)
		}
		if m.Recovered == "" || m.Humans != 1 || m.Writes >= before+int(size) {
			t.Errorf("got %s", m)
		}
	}
}
