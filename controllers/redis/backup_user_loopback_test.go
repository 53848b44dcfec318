package redis

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// backupUser is a client that is logged in to the node as a backup is.
func (l *loopback) backupUser(n *localServer) *redis.Client {
	c := l.client(n)
	c.Options().Username, c.Options().Password = backup.RedisUser, l.secrets.Backup
	c.Options().ReadTimeout = time.Minute // nobody is waited for here: what counts is the answer
	return c
}

// attach begins to read from a node as a replica does, after these words, and returns what came back last.
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

// A backup is fed for as long as it takes. It confirms no write, and nobody is disturbed by it.
func TestABackupIsNeitherCountedNorExpelled(t *testing.T) {
	l := newLoopback(t, 2, patient)
	l.write(0, 50)
	replica := l.replica()
	l.tell(l.master(), "CONFIG", "SET", "rdb-key-save-delay", "1200000") // 50 keys take a minute: the dump outlasts this test
	_, reply := l.attach(l.master(), "REPLCONF capa eof capa psync2", "REPLCONF rdb-only 1")
	if !strings.HasPrefix(reply, "+FULLRESYNC") {
		t.Fatal(reply)
	}
	fed := func() int { return l.number(l.master(), "connected_slaves") }
	for range 20 {
		if did := l.pass(); did != topology.Idle || fed() != 2 {
			t.Fatalf("%s (%s), %d are fed", did, l.last.Message, fed())
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
	if fed() != 1 {
		t.Errorf("%d are fed", fed())
	}
}

// With the password of the backups somebody may attach as a replica that goes on to listen.
func TestAReplicaByTheBackupsPasswordIsExpelled(t *testing.T) {
	l := newLoopback(t, 2)
	l.write(0, 10)
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
	for _, words := range [][]any{{"GET", "k0"}, {"SET", "k0", "v"}, {"KEYS", "*"}, {"ACL", "WHOAMI"}, {"CONFIG", "GET", "*"}, {"SYNC"}, {"REPLICAOF", "NO", "ONE"},
		{"PUBLISH", "a", "b"}, {"PSYNC", history, "1", "FAILOVER"}, {"PSYNC", history, "1"}} {
		if err := l.backupUser(l.replica()).Do(t.Context(), words...).Err(); err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
			t.Errorf("%v: %v", words, err)
		}
	}
}

// Servers that an earlier release started learn of the user without a restart, and are told once.
func TestServersOfTheFormerReleaseLearnTheBackupsUser(t *testing.T) {
	l := newLoopback(t, 2)
	before := l.links()
	for _, n := range l.nodes {
		l.tell(n, "ACL", "SETUSER", backup.RedisUser, "reset")
	}
	l.r = &Reconciler{clock: l.r.clock} // that has just begun
	l.until("the nodes are told", func() bool { return l.pass() == topology.SetPasswords })
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
	l.until("they are told of another password", func() bool { return l.pass() == topology.SetPasswords })
	if err := l.backupUser(l.master()).Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
}
