package fleet

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// Interleavings that lost confirmed writes, each with real servers.

// appended is a set whose files have every write that a process made, however it ends.
func appended(r *cachev1alpha1.Redis) {
	persisted(cachev1alpha1.RedisPersistAOF)(r)
	r.Spec.Persistence.AppendFsync = "no"
}

// All servers start cold, and the operator dies when it has just promoted one. What the
// record says of its history must still be true after the first replica has attached.
func TestALivingReplicaWinsOverADisk(t *testing.T) {
	l := newLoopback(t, 3, persisted(cachev1alpha1.RedisPersistRDB))
	l.write(0, 50)
	l.snapshot(l.nodes...)
	l.crash(true)
	l.answering()
	before := l.redis.Status.Epoch
	l.until("one is promoted", func() bool { l.pass(); return l.redis.Status.Replication.Epoch > before })
	master := l.master()
	for _, n := range l.without(master) {
		l.until(n.name+" is in sync", func() bool { return l.linked(n) })
	}
	if reported := l.confirmed(master, 100, 2); reported != 100 {
		t.Fatalf("only %d writes are confirmed", reported)
	}
	l.kill(master)
	l.start(master) // from its snapshot
	l.succeed()
	l.heal()
	l.expectNoneLost(100)
	l.expectKeys(100)
}

// All servers are killed. The last snapshot of the master is older than those of its replicas, which have saved what they
// confirmed: they are waited for, and one of them becomes master.
func TestAnOlderSnapshotOfTheMasterIsNotStartedWith(t *testing.T) {
	l := newLoopback(t, 3, persisted(cachev1alpha1.RedisPersistRDB))
	l.write(0, 50)
	old := l.master()
	l.caughtUp()
	l.snapshot(l.nodes...)
	l.write(50, 100)
	l.caughtUp()
	l.snapshot(l.without(old)...)
	for _, n := range l.nodes {
		l.kill(n)
	}
	l.succeed()
	l.start(old)
	l.until("the others are waited for", func() bool { return l.pass() == topology.Wait && strings.Contains(l.last.Message, "snapshots") })
	for _, n := range l.without(old) {
		l.start(n)
	}
	l.heal()
	l.expectNoneLost(100)
	l.expectKeys(100)
	if last := l.redis.Status.LastFailover; l.master() == old || last.Reason != commonv1.ReasonRecovering || last.Unsafe ||
		l.redis.Status.DatasetEpoch != 0 {
		t.Errorf("%s became master, data set %d: %+v", last.To, l.redis.Status.DatasetEpoch, last)
	}
}

// An application empties its data set while a node is away, and all servers restart.
func TestEmptyIsNotLost(t *testing.T) {
	l := newLoopback(t, 3, appended)
	l.write(0, 50)
	l.filed()
	away := l.replica()
	l.kill(away)
	l.until("it is dropped", func() bool { l.pass(); return len(l.redis.Status.Replication.SyncSet) == 1 })
	l.deleteKeys(50)
	for _, n := range l.without(away) {
		l.kill(n)
	}
	for _, n := range l.nodes {
		l.start(n)
	}
	l.succeed()
	var do topology.Verb
	l.until("a human is asked, or one is promoted", func() bool { do = l.pass(); return do == topology.Block || do == topology.Promote })
	if do == topology.Block {
		l.redis.Annotations = map[string]string{cachev1alpha1.RedisAllowUnsafePromotion: strconv.FormatInt(l.redis.Status.Epoch, 10)}
	}
	l.heal()
	l.expectKeys(0)
}

// The opposite case: the stamps outlive what was on the disk.
func TestAnEmptiedDiskWipesNoOne(t *testing.T) {
	l := newLoopback(t, 3, appended)
	l.write(0, 50)
	l.filed()
	emptied := l.master()
	for _, n := range l.nodes {
		l.kill(n)
	}
	if err := os.RemoveAll(filepath.Join(emptied.dir, "appendonlydir")); err != nil {
		t.Fatal(err)
	}
	for _, n := range l.nodes {
		l.start(n)
	}
	l.succeed()
	l.heal()
	l.expectKeys(50)
}

// A replica's pod is deleted by force while its link is down. Its process reconnects.
func TestADroppedReplicaConfirmsNothing(t *testing.T) {
	l := newLoopback(t, 3, lenient)
	l.write(0, 50)
	master, replica := l.master(), l.replica()
	repair := l.cut(replica)
	ghost := l.orphan(replica)
	l.heal()
	l.lag(l.without(master)...)
	refused := l.refusals(master)
	repair()
	l.until("its process has tried to come back", func() bool { return l.refusals(master) > refused+1 || l.linked(ghost) })
	reported := l.confirmed(master, 60, 1)
	l.kill(master)
	l.resume(l.without(master)...)
	l.until("another is master", func() bool { l.pass(); return l.master() != master })
	l.expectNoneLost(reported)
}

// W is lowered while the operator is away, and applications ask for as few copies.
func TestALoweredMinimumCounts(t *testing.T) {
	l := newLoopback(t, 3, lenient, func(r *cachev1alpha1.Redis) { r.Spec.Durability.MinReplicasToWrite = ptr.To[int32](2) })
	l.write(0, 50)
	l.caughtUp()
	l.redis.Spec.Durability.MinReplicasToWrite = ptr.To[int32](1)
	master := l.master()
	lagging, prompt := l.without(master)[0], l.without(master)[1]
	l.lag(lagging)
	reported := l.confirmed(master, 60, 1)
	if reported != 60 {
		t.Fatalf("only %d writes are confirmed", reported)
	}
	l.suspend(prompt)
	l.kill(master)
	l.resume(lagging)
	l.until("the one with all is waited for", func() bool { return l.pass() == topology.Block || l.master() != master })
	l.resume(prompt)
	l.until("another is master", func() bool { l.pass(); return l.master() != master })
	l.expectNoneLost(reported)
}

// A container restarts in place while the operator is away: no client must read that there is nothing.
func TestNoOneReadsFromAServerWithoutData(t *testing.T) {
	l := newLoopback(t, 3)
	l.write(0, 50)
	l.heal()
	l.caughtUp()
	for _, which := range []func() *localServer{l.replica, l.master} {
		restarted := which()
		l.kill(restarted)
		l.start(restarted)
		l.answering()
		for _, n := range l.nodes {
			value, err := l.client(n).Get(t.Context(), "7").Result()
			if closed := err != nil && strings.HasPrefix(err.Error(), "MASTERDOWN"); n == restarted && !closed || n != restarted && value != "7" {
				t.Errorf("%s was restarted; %s answers a reader %q, %v", restarted.name, n.name, value, err)
			}
			if err := l.probe(n); n == restarted && err == nil || n != restarted && err != nil {
				t.Errorf("%s was restarted; %s answers the readiness probe %v", restarted.name, n.name, err)
			}
		}
		l.heal()
		l.expectKeys(50)
	}
}

// The operator reaches a master that its replicas have no way to. What they have confirmed is all
// with them, and who is promoted stays master when there is a way again.
func TestACutOffMasterIsReplacedByAReplica(t *testing.T) {
	l := newLoopback(t, 3)
	l.write(0, 50)
	old, epoch := l.master(), l.redis.Status.Epoch
	var repairs []func()
	for _, n := range l.without(old) {
		repairs = append(repairs, l.cut(n))
	}
	l.until("another is master", func() bool { l.pass(); return l.redis.Status.Replication.Master.Name != old.name })
	l.heal()
	if last := l.redis.Status.LastFailover; last.Reason != commonv1.ReasonMasterCutOff || last.From != old.name {
		t.Errorf("the failover is reported as %+v", last)
	}
	replaced := l.redis.Status.Epoch
	for _, repair := range repairs {
		repair()
	}
	l.heal()
	l.expectNoneLost(50)
	if l.redis.Status.Epoch != replaced || replaced <= epoch {
		t.Errorf("epoch %d became %d, then %d", epoch, replaced, l.redis.Status.Epoch)
	}
}
