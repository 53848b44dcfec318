package fleet

import (
	"strings"
	"testing"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// The loading of a backup in the model: a process next to the nodes serves it, where the operator is.

// backedUpWrite is what the backup holds.
const backedUpWrite = "R"

// createSource makes the pod that serves the backup.
func (m *model) createSource() {
	if m.source.pod == 0 {
		m.source = process{node: operatorSide, pod: m.next(), run: m.next(), alive: true, master: true, history: m.next(), data: backedUpWrite,
			start: 1}
	}
}

// deleteSource deletes the pod that serves the backup, if it is that one.
func (m *model) deleteSource(pod id) {
	if m.source.pod == pod {
		m.endSource()
		m.source = process{}
	}
}

// endSource ends the server in it.
func (m *model) endSource() {
	m.unlink(&m.source)
	m.source.alive = false
}

// startedWithBackup checks the first master of a set that is to start with a backup: it has that, and from then on nothing else has.
func (m *model) startedWithBackup(p *process) {
	switch {
	case !m.record.bootstrap || m.restored:
	case !strings.Contains(p.data, backedUpWrite):
		m.violate("node %d was promoted without the backup", p.node)
	default:
		m.restored, m.confirmed = true, m.confirmed+backedUpWrite
	}
}

// sourceOf is how a pass sees the pod that serves the backup.
func sourceOf(read reading) *topology.Source {
	if read.source == 0 || read.record.restore == 0 {
		return nil
	}
	s := &topology.Source{Node: topology.Node{Name: "a-restore", PodUID: podUID(read.source), Address: address(read.source)}, Item: "item"}
	if read.sourceEnded {
		s.Failure, s.SinceFailure = "it ended", maxAge
	}
	return s
}

var restorePhases = [...]cachev1alpha1.RedisRestorePhase{"", cachev1alpha1.RedisRestoreFetching, cachev1alpha1.RedisRestoreLoading,
	cachev1alpha1.RedisRestoreCompleted}

// restoreStatus is the shipped form of how far the loading is.
func (s savedRecord) restoreStatus() *cachev1alpha1.RedisRestore {
	if s.restore == 0 {
		return nil
	}
	status := &cachev1alpha1.RedisRestore{Phase: restorePhases[s.restore], ReplID: historyName(s.restoreHistory)}
	if s.loader.pod != 0 {
		p := s.loader.process(0)
		status.Loader = &p
	}
	return status
}

// noteRestore is the model's form of it.
func (s *savedRecord) noteRestore(status *cachev1alpha1.RedisRestore) {
	if status == nil {
		return
	}
	for i, phase := range restorePhases {
		if phase == status.Phase {
			s.restore = int8(i) //nolint:gosec // a few
		}
	}
	if status.ReplID != "" {
		s.restoreHistory = idIn(status.ReplID)
	}
	if status.Loader != nil {
		s.loader = referenceTo(*status.Loader)
	}
}

// bootstrapped are servers that have just started, and a new object that names a backup.
func bootstrapped(storage bool) func(*testing.T) *model {
	return func(*testing.T) *model {
		u := newModel(3, 1, storage)
		u.record.bootstrap = true
		return u
	}
}

// loading is a set whose loader is recorded and follows the source.
func loading(storage bool) func(*testing.T) *model {
	return func(t *testing.T) *model {
		u := bootstrapped(storage)(t)
		known := operatorMemory{identity: u.next()}
		for range 8 {
			if u.record.restore == 2 && u.procs[0].follows != 0 {
				return u
			}
			_, known, _ = playPass(u.read(), known, u.answer)
		}
		t.Fatalf("nothing is loaded: %+v", u.record)
		return nil
	}
}

// putBack is a set that was restored and has written since. The API server's backup is of the middle of that, or before it.
func putBack(storage bool, start func(bool) func(*testing.T) *model) func(*testing.T) *model {
	return func(t *testing.T) *model {
		u := start(storage)(t)
		u.applyAll(transition{action: backedUp})
		if u.runPasses() != topology.Idle {
			t.Fatal("it is not formed")
		}
		u.applyAll(transition{action: wrote}, transition{action: caughtUp, a: 1}, transition{action: caughtUp, a: 2})
		return u
	}
}

// holdingData are servers of which one has confirmed data, and a new object that names a backup.
func holdingData(node int8) func(*testing.T) *model {
	return func(t *testing.T) *model {
		u := bootstrapped(true)(t)
		u.procs[node].data, u.confirmed = "d", "d"
		u.kill(&u.procs[node])
		return u
	}
}

// A set starts with its backup, and the pod that served it goes.
func TestTheModelStartsWithItsBackup(t *testing.T) {
	for _, storage := range []bool{true, false} {
		u := bootstrapped(storage)(t)
		if did := u.runPasses(); did != topology.Idle || !u.restored || u.source.pod != 0 || u.record.restore != 3 || u.violation != "" {
			t.Errorf("%s, %+v, %s", did, u.record, u.violation)
		}
	}
}
