package fleet

import (
	"strings"
	"testing"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// Who may confirm writes, with real servers.

// formedBefore makes a set as the release before logins did: any process that knows the password of the
// servers' files replicates, and every server answers reads from its start on.
func (l *loopback) formedBefore() {
	l.t.Helper()
	l.answering()
	for _, n := range l.nodes {
		l.command(n, "CONFIG", "SET", "replica-serve-stale-data", "yes")
	}
	master := l.nodes[0]
	l.command(master, "CONFIG", "SET", "min-replicas-to-write", "1")
	l.command(master, "REPLICAOF", "NO", "ONE")
	for _, n := range l.without(master) {
		l.command(n, "REPLICAOF", master.address, wire.Port)
		l.until(n.name+" is in sync", func() bool { return l.linked(n) })
	}
	f := l.look()
	defer f.closeConnections()
	l.redis.Status = cachev1alpha1.RedisStatus{Epoch: 1, Master: master.name, TargetMaster: master.name,
		Replication: &cachev1alpha1.RedisReplication{
			Epoch: 1, ReplID: f.Nodes[0].ReplID, Master: f.Nodes[0].Process(), EffectiveMinReplicas: 1,
			SyncSet: []cachev1alpha1.RedisProcess{f.Nodes[1].Process(), f.Nodes[2].Process()}}}
	l.succeed()
}

// command a server by hand.
func (l *loopback) command(n *localServer, words ...any) {
	l.t.Helper()
	if err := l.operator(n).Do(l.t.Context(), words...).Err(); err != nil {
		l.t.Fatal(n.name, words, err)
	}
}

// links that the master has made since its start, and how many stand.
func (l *loopback) links() string {
	l.t.Helper()
	var list []string
	for _, field := range []string{"sync_full", "sync_partial_ok", "sync_partial_err", "connected_slaves"} {
		list = append(list, field+" "+l.info(l.master(), field))
	}
	return strings.Join(list, ", ")
}

func (l *loopback) loginsOf(nodes []*localServer) string {
	l.t.Helper()
	const directive = "masteruser"
	var list []string
	for _, n := range nodes {
		list = append(list, l.operator(n).ConfigGet(l.t.Context(), directive).Val()[directive])
	}
	return strings.Join(list, " ")
}

// A new operator touches nothing of a set that is well. With the first change of who follows,
// each gets a login of its own, and the one that all had is closed.
func TestASetOfTheFormerReleaseGetsItsLogins(t *testing.T) {
	l := startLoopback(t, 3)
	l.formedBefore()
	l.write(0, 50)
	before := l.links()
	l.heal()
	l.write(50, 60)
	replicas := l.nodes[1:]
	if after, logins := l.links(), l.loginsOf(replicas); after != before || logins != "_replication _replication" {
		t.Errorf("a new operator was not to touch anything: %s, then %s; logins %s", before, after, logins)
	}
	common := func() error {
		c := l.client(l.master())
		c.Options().Username, c.Options().Password = wire.Replication, l.secrets.Replication
		return c.Ping(t.Context()).Err()
	}
	if err := common(); err != nil {
		t.Errorf("the login that all have: %v", err)
	}
	l.kill(replicas[0])
	l.start(replicas[0])
	l.heal()
	if logins := l.loginsOf(replicas); logins != "_replication-1 _replication-2" {
		t.Errorf("logins %s", logins)
	}
	if err := common(); err == nil || !strings.Contains(err.Error(), "WRONGPASS") {
		t.Errorf("the login that all had: %v", err)
	}
	l.caughtUp()
	full, partial := l.info(l.master(), "sync_full"), l.number(l.master(), "sync_partial_ok")
	l.command(l.master(), "CLIENT", "KILL", "TYPE", "replica")
	l.until("both have come back", func() bool { return l.number(l.master(), "sync_partial_ok") == partial+2 })
	if again := l.info(l.master(), "sync_full"); again != full {
		t.Errorf("%s full copies, then %s", full, again)
	}
	l.heal()
	l.expectKeys(60)
}
