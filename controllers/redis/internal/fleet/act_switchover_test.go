package fleet

import (
	"context"
	"strings"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// pair is a master of three operations and a replica of it, both recorded.
func pair() (u *model, master, replica *process) {
	u = recordedSet(2, false)
	return u, &u.procs[0], &u.procs[1]
}

// recordedSet is a master of three operations and replicas of it, all recorded.
func recordedSet(nodes int8, storage bool) *model {
	u := newModel(nodes, 1, storage)
	master := &u.procs[0]
	master.master, master.pinned, master.data = true, true, "abc"
	u.record.hasReplication, u.record.history, u.record.recordedMaster = true, master.history, reference{master.pod, master.run}
	u.record.master, u.record.target = 0, 0
	for n := int8(1); n < nodes; n++ {
		replica := &u.procs[n]
		master.admits[n], replica.login = replica.run, replica.run
		replica.follows, replica.linked, replica.pinned, replica.history, replica.data = master.pod, true, true, master.history, "abc"
		u.record.members[n] = reference{replica.pod, replica.run}
	}
	return u
}

var toReplica = topology.Step{Do: topology.SwitchOver, NodeNames: []string{"a-1"}}

// Who lags behind the master, and who is far ahead in a history of its own, is no
// candidate: the master serves on.
func TestNoHandOverToWhoLacksTheHistory(t *testing.T) {
	for reason, change := range map[string]func(u *model, replica *process){
		"it lags":            func(_ *model, replica *process) { replica.data = "ab" },
		"it is of elsewhere": func(u *model, replica *process) { replica.data, replica.history = "xxxxxx", u.next() },
	} {
		t.Run(reason, func(t *testing.T) {
			u, master, replica := pair()
			change(u, replica)
			p := u.direct()
			err := p.do(t.Context(), toReplica)
			if err == nil || !master.master || u.record.epoch != 0 {
				t.Error(err, master.master, u.record.epoch)
			}
			// What else there is to do need not wait with it.
			next, err := p.execute(t.Context(), toReplica)
			if err != nil || next.Do != topology.Wait || next.RequeueAfter == 0 || !strings.Contains(next.Message, "a-1") {
				t.Error(err, next, next.Message)
			}
		})
	}
}

// Writes must not wait for a replica that lags: W stays until it has caught up.
func TestNoHigherMinimumWithWhoLags(t *testing.T) {
	u, master, replica := pair()
	replica.data = "ab"
	p := u.direct()
	if err := p.doSetMinReplicas(t.Context(), topology.Step{MinReplicas: 1}); err == nil || master.minReplicas != 0 {
		t.Errorf("%v: W is %d", err, master.minReplicas)
	}
	replica.data = master.data
	if err := p.doSetMinReplicas(t.Context(), topology.Step{MinReplicas: 1}); err != nil || master.minReplicas != 1 ||
		p.Redis.Status.Replication.EffectiveMinReplicas != 1 {
		t.Errorf("%v: W is %d", err, master.minReplicas)
	}
}

// writeBeforeFence takes a write just before it is fenced.
type writeBeforeFence struct {
	server
	master *process
}

func (w writeBeforeFence) Fence(ctx context.Context) error {
	w.master.data += "d"
	return w.server.Fence(ctx)
}

// What the old master took before its fence is waited for, or no one is promoted.
func TestNoHandOverBeforeTheLastWrite(t *testing.T) {
	u, master, replica := pair()
	p := u.direct()
	p.servers["a-0"] = writeBeforeFence{p.servers["a-0"], master}
	if err := p.do(t.Context(), toReplica); err == nil || replica.master {
		t.Errorf("%v: it lacks the last write and is master: %t", err, replica.master)
	}
}
