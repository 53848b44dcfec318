package fleet

import (
	"errors"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// Interleavings in which the record is older than what the servers do, with real servers.

// The API server is restored from a backup that was taken before a failover.
func TestARestoredRecordFencesNoMaster(t *testing.T) {
	l := newLoopback(t, 3, appended)
	l.write(0, 50)
	before, old := l.backup(), l.master()
	l.kill(old)
	l.until("another is master", func() bool { l.pass(); return l.master() != old })
	real := l.master()
	l.write(50, 100)
	l.start(old) // with what it had before
	l.restore(before)
	l.heal()
	l.expectNoneLost(100)
	l.expectKeys(100)
	if l.master() != real || l.redis.Status.Epoch <= before.status.Epoch {
		t.Errorf("%s is master in epoch %d, %s was", l.redis.Status.Master, l.redis.Status.Epoch, real.name)
	}
}

// The same, and the master of the restored record serves again next to the one that replaced it.
func TestARestoredRecordCrownsNoSupersededMaster(t *testing.T) {
	l := newLoopback(t, 3, impatient)
	l.write(0, 50)
	before, old := l.backup(), l.master()
	l.suspend(old)
	l.until("another is master", func() bool { l.pass(); return l.master() != old })
	reported := l.confirmed(l.master(), 100, 1)
	l.restore(before)
	l.resume(old)
	l.heal()
	l.expectNoneLost(reported)
	if reported == firstConfirmed {
		t.Error("no write was confirmed that could be lost")
	}
}

// The counter-test: followed by too few to confirm anything, a superseded master is fenced.
func TestASupersededMasterIsFenced(t *testing.T) {
	l := newLoopback(t, 5, impatient, func(r *cachev1alpha1.Redis) { r.Spec.Durability.MinReplicasToWrite = ptr.To[int32](2) })
	l.write(0, 50)
	l.caughtUp()
	old, behind := l.master(), l.replica()
	l.suspend(old, behind)
	l.until("another is master", func() bool { l.pass(); return l.master() != old })
	l.resume(old, behind)
	l.until("both are back", func() bool { return l.info(old, "role") == "master" && l.linked(behind) })
	if next := l.pass(); next != topology.Fence || l.info(old, "role") == "master" {
		t.Errorf("the pass does %s, the superseded master is %s", next, l.info(old, "role"))
	}
	l.heal()
	l.write(50, 60)
	l.expectKeys(60)
}

// A human had it replaced although a replica that follows it could not be asked. Both wake,
// and the set has a master already that confirms writes, or is about to.
func TestAMasterThatWasReplacedUnsafelyIsFenced(t *testing.T) {
	l := newLoopback(t, 5, impatient)
	l.write(0, 50)
	l.caughtUp()
	old, behind := l.master(), l.replica()
	l.suspend(old, behind)
	l.until("a human is asked", func() bool { return l.pass() == topology.Block })
	l.redis.Annotations = map[string]string{cachev1alpha1.RedisAllowUnsafePromotion: strconv.FormatInt(l.redis.Status.Epoch, 10)}
	l.until("another is master", func() bool { l.pass(); return l.master() != old })
	l.redis.Annotations = nil
	real := l.master()
	reported := l.confirmed(real, 60, 1)
	l.resume(old, behind)
	l.until("both are back", func() bool { return l.info(old, "role") == "master" && l.linked(behind) })
	if next := l.pass(); next != topology.Fence || l.info(old, "role") == "master" {
		t.Errorf("the pass does %s, the master that was replaced is %s", next, l.info(old, "role"))
	}
	l.heal()
	l.expectNoneLost(reported)
	if l.master() != real {
		t.Errorf("%s is master, %s was", l.master().name, real.name)
	}
}

// The record is restored while the process of a pod that was deleted by force still follows
// the master. Another pod has its place, which the record takes up.
func TestAFoundMasterRefusesWhoIsNotRecorded(t *testing.T) {
	l := newLoopback(t, 3, lenient)
	l.write(0, 50)
	before, old := l.backup(), l.master()
	l.kill(old)
	l.until("another is master", func() bool { l.pass(); return l.master() != old })
	l.start(old)
	l.heal()
	master := l.master()
	replica := l.without(old, master)[0]
	l.restore(before)
	l.orphan(replica)
	l.until("the new pod is in sync", func() bool { l.pass(); return l.master() == master && l.linked(replica) })
	l.lag(l.without(master)...)
	reported := l.confirmed(master, 60, 1)
	l.kill(master)
	l.resume(l.without(master)...)
	l.until("a replica is master", func() bool { l.pass(); return l.master() != master })
	l.expectNoneLost(reported)
}

// What one that cannot be asked has confirmed must be with those that are recorded instead.
func TestNoMasterIsTakenUpWithWhoLags(t *testing.T) {
	u, master, replica := pair()
	u.record.recordedMaster.run = u.next() // another than the one that serves
	replica.data = "ab"
	p := u.direct()
	before := p.Redis.Status.DeepCopy()
	taken := topology.Step{Do: topology.RecordMaster, NodeNames: []string{"a-0"}, Reason: commonv1.ReasonRecordOutdated}
	if err := p.do(t.Context(), taken); !errors.As(err, &behindError{}) || !equality.Semantic.DeepEqual(before, &p.Redis.Status) {
		t.Errorf("%v: %+v", err, p.Redis.Status)
	}
	replica.data = master.data
	if err := p.do(t.Context(), taken); err != nil || p.Redis.Status.Replication.Master.RunID != runID(master.run) {
		t.Errorf("%v: %+v", err, p.Redis.Status.Replication)
	}
}
