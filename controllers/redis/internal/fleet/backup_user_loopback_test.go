package fleet

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/mainstay-operator/mainstay-operator/controllers/backup/source"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// backupUser is a client that is logged in to the node as a backup is.
func (l *loopback) backupUser(n *localServer) *redis.Client {
	c := l.client(n)
	c.Options().Username, c.Options().Password = backup.RedisUser, l.secrets.Backup
	return c
}

// attach starts to read from a node as a replica does, after these words, and returns what came back last.
func (l *loopback) attach(n *localServer, words ...string) (net.Conn, string) {
	l.t.Helper()
	conn, err := net.Dial("tcp", net.JoinHostPort(n.address, fmt.Sprint(wire.Port)))
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = conn.Close() })
	replies, last := bufio.NewReader(conn), ""
	for _, line := range append([]string{"AUTH " + backup.RedisUser + " " + l.secrets.Backup}, append(words, "PSYNC ? -1")...) {
		if _, err := fmt.Fprintf(conn, "%s\r\n", line); err != nil {
			l.t.Fatal(err)
		}
		for last = ""; strings.TrimSpace(last) == ""; { // a server that makes its dump sends empty lines meanwhile
			if last, err = replies.ReadString('\n'); err != nil {
				l.t.Fatal(err)
			}
		}
	}
	return conn, last
}

// One that has the backups' password asks for a dump and acknowledges what it has not got. REPLCONF takes several options, so that a right
// to the first one is a right to all.
func TestABackupsPasswordConfirmsNoWrite(t *testing.T) {
	l := newLoopback(t, 2)
	l.write(0, 10)
	forge := func(n *localServer) string {
		conn, reply := l.attach(n, "REPLCONF capa eof capa psync2")
		_, _ = fmt.Fprint(conn, "REPLCONF capa eof ack 999999999\r\n")
		return reply
	}
	forged := func(n *localServer) bool {
		info, err := l.client(n).Info(t.Context(), "replication").Result()
		return err != nil || strings.Contains(info, "999999999")
	}
	for range 2 {
		if reply := forge(l.master()); !strings.HasPrefix(reply, "-NOPERM") || forged(l.master()) {
			t.Errorf("the master answers %q", reply)
		}
		if reply := forge(l.replica()); !strings.HasPrefix(reply, "+FULLRESYNC") {
			t.Errorf("the replica answers %q", reply)
		}
		l.heal()
		before := l.master()
		l.kill(before)
		l.until("the other is master", func() bool { l.pass(); return l.master() != before })
		l.start(before)
		l.heal()
	}
}

// A backup is fed for as long as it takes, and no one is disturbed by it.
func TestABackupIsNeitherCountedNorExpelled(t *testing.T) {
	l := newLoopback(t, 2, patient)
	l.write(0, 50)
	replica := l.replica()
	l.command(replica, "CONFIG", "SET", "rdb-key-save-delay", "1200000") // 50 keys take a minute: the dump outlives this test
	_, reply := l.attach(replica, "REPLCONF capa eof capa psync2", "REPLCONF rdb-only 1")
	if !strings.HasPrefix(reply, "+FULLRESYNC") {
		t.Fatal(reply)
	}
	for range 20 {
		if did := l.pass(); did != topology.Idle || l.number(replica, "connected_slaves") != 1 {
			t.Fatalf("%s (%s), %d are fed", did, l.last.Message, l.number(replica, "connected_slaves"))
		}
	}
	if good := l.number(l.master(), "min_slaves_good_slaves"); good != 1 {
		t.Errorf("%d count as replicas that keep up", good)
	}
	l.kill(replica)
	l.until("no write is taken without the replica", func() bool {
		err := l.client(l.master()).Set(t.Context(), "alone", 1, 0).Err()
		return err != nil && strings.HasPrefix(err.Error(), "NOREPLICAS")
	})
}

// A backup by the shipped reader leaves a managed set as it was: the only node itself, or a replica, is read while the operator
// looks. The first that asks a master for a dump has it start a new history, also as a backup (syncCommand of Redis'
// replication.c); the operator has its masters do that before they are recorded, so that the recorded ID stays.
func TestABackupLeavesASetAsItWas(t *testing.T) {
	for replicas := range int32(2) {
		t.Run(fmt.Sprint(replicas+1), func(t *testing.T) {
			l := newLoopback(t, replicas+1, patient)
			l.until("its replica counts", func() bool { return replicas == 0 || l.number(l.master(), "min_slaves_good_slaves") == 1 })
			application := l.client(l.master())
			for n := range 50 {
				if err := application.Set(t.Context(), fmt.Sprint(n), n, 0).Err(); err != nil {
					t.Fatal(err)
				}
			}
			l.caughtUp()
			before := l.standing()
			for range 2 {
				looks := firstWrite(l.rest)
				meta, err := source.Redis(t.Context(), backup.Source{UID: "a", Endpoints: l.endpoints()}, l.backupLogin(), &looks)
				if err != nil || meta.Keys != 50 || meta.ReplicationID != l.redis.Status.Replication.ReplID {
					t.Fatalf("%+v of the history %s: %v", meta, l.redis.Status.Replication.ReplID, err)
				}
				l.rest()
				l.until("the servers have seen that it has ended", func() bool { return l.number(l.master(), "connected_slaves") == int(replicas) })
			}
			if after := l.standing(); after != before {
				t.Errorf("before: %s\nafter: %s", before, after)
			}
		})
	}
}

// rest passes until the plan was idle five times. Whom it has not heard on a busy machine it looks at again, and says again what
// that may not know; it does nothing else.
func (l *loopback) rest() {
	l.t.Helper()
	again := []topology.Verb{topology.Idle, topology.Wait, topology.SetPasswords, topology.ApplySettings, topology.ServeStaleReads}
	for range 5 {
		l.until("the plan is idle", func() bool {
			did := l.pass()
			if !slices.Contains(again, did) {
				l.t.Errorf("%s (%s)", did, l.last.Message)
			}
			return did == topology.Idle
		})
	}
}

// standing is who is master of what history in what epoch, by the servers and by the record, and how many confirm writes.
func (l *loopback) standing() string {
	l.t.Helper()
	all := fmt.Sprint(l.redis.Status.Epoch, l.redis.Status.Master, *l.redis.Status.Replication)
	for _, n := range l.nodes {
		all += fmt.Sprint(" ", n.name, l.info(n, "role"), l.info(n, "master_replid"), l.info(n, "master_replid2"))
	}
	if len(l.nodes) > 1 {
		all += fmt.Sprint(" good: ", l.number(l.master(), "min_slaves_good_slaves"))
	}
	return all
}

// firstWrite is what is done when the first part of a dump arrives.
type firstWrite func()

func (f *firstWrite) Write(p []byte) (int, error) {
	if do := *f; do != nil {
		*f = nil
		do()
	}
	return len(p), nil
}

// endpoints of all servers, as a backup is given them.
func (l *loopback) endpoints() []string {
	var all []string
	for _, n := range l.nodes {
		all = append(all, net.JoinHostPort(n.address, fmt.Sprint(wire.Port)))
	}
	return all
}

// backupLogin is the directory with the Secret that a backup's pod mounts.
func (l *loopback) backupLogin() string {
	l.t.Helper()
	dir := l.t.TempDir()
	for name, word := range map[string]string{"username": backup.RedisUser, "password": l.secrets.Backup, backup.SourceUIDKey: "a"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(word), 0o600); err != nil {
			l.t.Fatal(err)
		}
	}
	return dir
}

// With the password of the backups somebody may attach as a replica that continues to listen.
func TestAReplicaByTheBackupsPasswordIsExpelled(t *testing.T) {
	l := newLoopback(t, 2)
	l.write(0, 10)
	l.command(l.master(), "ACL", "SETUSER", backup.RedisUser, "+replconf", "+psync|?") // as a former release had it
	conn, _ := l.attach(l.master(), "REPLCONF capa eof capa psync2")
	ended := make(chan struct{})
	go func() {
		_, _ = fmt.Fprint(conn, "REPLCONF ACK 0\r\n")
		buffer := make([]byte, 4096)
		for {
			if _, err := conn.Read(buffer); err != nil {
				close(ended)
				return
			}
			_, _ = fmt.Fprint(conn, "REPLCONF ACK 0\r\n")
		}
	}()
	l.until("it is expelled", func() bool {
		l.pass()
		select {
		case <-ended:
			return true
		default:
			return false
		}
	})
	l.heal()
}

func TestABackupMayReadADumpAndNoMore(t *testing.T) {
	l := newLoopback(t, 2)
	l.write(0, 1)
	c := l.backupUser(l.replica())
	if err := errors.Join(c.Ping(t.Context()).Err(), c.Info(t.Context()).Err(), c.Do(t.Context(), "ROLE").Err()); err != nil {
		t.Error(err)
	}
	history := l.info(l.replica(), "master_replid")
	for _, words := range [][]any{{"GET", "k0"}, {"SET", "k0", "v"}, {"KEYS", "*"}, {"ACL", "WHOAMI"}, {"CONFIG", "GET", "*"}, {"SYNC"},
		{"REPLICAOF", "NO", "ONE"},
		{"PUBLISH", "a", "b"}, {"PSYNC", history, "1", "FAILOVER"}, {"PSYNC", history, "1"}} {
		if err := l.backupUser(l.replica()).Do(t.Context(), words...).Err(); err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
			t.Errorf("%v: %v", words, err)
		}
	}
}

// Servers that an earlier release started get the user without a restart, and are sent it once.
func TestServersOfTheFormerReleaseLearnTheBackupsUser(t *testing.T) {
	l := newLoopback(t, 2)
	before := l.links()
	for _, n := range l.nodes {
		l.command(n, "ACL", "SETUSER", backup.RedisUser, "reset")
	}
	l.running = startOperator(l.running.Clock) // that has just started
	l.until("the nodes are sent the user", func() bool { return l.pass() == topology.SetPasswords })
	for _, n := range l.nodes {
		if err := l.backupUser(n).Ping(t.Context()).Err(); err != nil {
			t.Errorf("%s: %v", n.name, err)
		}
	}
	l.heal()
	for range 5 {
		if did := l.pass(); did != topology.Idle {
			t.Errorf("%s (%s)", did, l.last.Message)
		}
	}
	if after := l.links(); after != before {
		t.Errorf("%s, then %s", before, after)
	}
	l.secrets.Backup = "another"
	l.until("they are sent another password", func() bool { return l.pass() == topology.SetPasswords })
	if err := l.backupUser(l.master()).Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
}

// A master that was replaced while it hung does not know. It is not read when it continues, though the next one has died and cannot say so.
func TestABackupReadsNoMasterThatWasReplaced(t *testing.T) {
	l := newLoopback(t, 3)
	l.write(0, 5)
	old := l.master()
	l.signal(old, syscall.SIGSTOP)
	l.until("another is master", func() bool { l.pass(); return l.master() != old })
	l.kill(l.master())
	l.signal(old, syscall.SIGCONT)
	from := backup.Source{UID: "a", Endpoints: l.endpoints(), ReplicationID: l.redis.Status.Replication.ReplID}
	if meta, err := source.Redis(t.Context(), from, l.backupLogin(), io.Discard); err == nil ||
		!strings.Contains(err.Error(), "the master has changed since") {
		t.Errorf("got %+v, %v", meta, err)
	}
	// Without a replication ID, the former master is accepted as master; it has no replica, so it is not read.
	from.ReplicationID = ""
	if meta, err := source.Redis(t.Context(), from, l.backupLogin(), io.Discard); err == nil ||
		!strings.Contains(err.Error(), "no replica is in sync") {
		t.Errorf("a master that has no replica is read: %+v, %v", meta, err)
	}
}
