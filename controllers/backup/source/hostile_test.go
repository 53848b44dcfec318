package source

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

const (
	anID      = "0123456789abcdef0123456789abcdef01234567"
	anotherID = "1123456789abcdef0123456789abcdef01234567"
	aDump     = "REDIS0011\xff\x00\x00\x00\x00\x00\x00\x00\x00"
)

// infoOf is the reply to INFO of a server with that role.
func infoOf(role, id, link string, offset int64) string {
	text := fmt.Sprintf("# Server\r\nredis_version:7.2.4\r\nvalkey_version:8.1.1\r\nloading:0\r\nrole:%s\r\nmaster_link_status:%s\r\n"+
		"master_replid:%s\r\nmaster_repl_offset:%d\r\nslave_repl_offset:%d\r\n", role, link, id, offset, offset)
	return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text)
}

// fakeRedis is a server of a test's own words.
type fakeRedis struct {
	auth  string // what it says to AUTH, if it is not "+OK"
	info  func() string
	psync string      // what it says to PSYNC, and then no more
	holds bool        // and it leaves the connection open
	heard chan string // what it was sent over a connection, once that has ended; nil if no test asks
}

// start returns where the server is.
func (f fakeRedis) start(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = connection.Close() })
			go f.serve(connection)
		}
	}()
	return listener.Addr().String()
}

func (f fakeRedis) serve(connection net.Conn) {
	var heard []string
	defer func() {
		if f.heard != nil {
			f.heard <- strings.Join(heard, " ")
		}
	}()
	for lines := bufio.NewScanner(connection); lines.Scan(); {
		reply := ""
		if !strings.HasPrefix(lines.Text(), "$") { // not a word's length
			heard = append(heard, lines.Text())
		}
		switch lines.Text() {
		case "AUTH":
			reply = cmp.Or(f.auth, "+OK\r\n")
		case "REPLCONF":
			reply = "+OK\r\n"
		case "INFO":
			reply = f.info()
		case "PSYNC":
			reply = f.psync
		}
		_, _ = io.WriteString(connection, reply)
		if lines.Text() == "PSYNC" && !f.holds {
			_ = connection.Close()
		}
	}
}

func aMaster() string { return infoOf("master", anID, "", 100) }

func TestDumpsThatHostileServersGive(t *testing.T) {
	t.Parallel()
	const start, mark = "\n\n+FULLRESYNC " + anID + " 100\r\n\n\n", "mark567890123456789012345678901234567890"
	sized := fmt.Sprintf("$%d\r\n", len(aDump))
	for _, c := range []struct {
		name, psync string
		want        string // in the error; "" for none
	}{
		{"a dump of a length", start + sized + aDump, ""},
		{"a dump of a length, and more behind it", start + sized + aDump + "\n*1\r\n", ""},
		{"a dump with a mark", start + "$EOF:" + mark + "\r\n" + aDump + mark, ""},
		{"a dump with a mark, and more behind it", start + "$EOF:" + mark + "\r\n" + aDump + mark + "*1\r\n", ""},
		{"a dump with half of the mark", start + "$EOF:" + mark + "\r\n" + aDump + mark[:20], "the server has broken off the dump"},
		{"a dump with another mark", start + "$EOF:" + mark + "\r\n" + aDump + strings.Repeat("x", markSize),
			"the server has broken off the dump"},
		{"a dump without its mark", start + "$EOF:" + mark + "\r\n" + aDump, "the server has broken off the dump"},
		{"a mark that is short", start + "$EOF:mark\r\n" + aDump, `the mark "mark" does not have 40 bytes`},
		{"a dump that is shorter than it says", start + fmt.Sprintf("$%d\r\n", len(aDump)+1) + aDump, "the server has broken off the dump"},
		{"a dump that is longer than it says", start + fmt.Sprintf("$%d\r\n", len(aDump)-1) + aDump, "the dump is truncated"},
		{"a huge length", start + "$9223372036854775807\r\n" + aDump, "the server has broken off the dump"},
		{"a length beyond all numbers", start + "$99999999999999999999\r\n" + aDump, `"99999999999999999999" is not the length of a dump`},
		{"no length", start + "$-1\r\n", `"-1" is not the length of a dump`},
		{"something else", start + "$15\r\n<!DOCTYPE html>", "is not how a dump starts"},
		{"an endless line", strings.Repeat("x", maxLine+1), "a line of more than 1024 bytes"},
		{"an endless line in place of a length", start + "$" + strings.Repeat("1", maxLine), "a line of more than 1024 bytes"},
		{"nothing", "", "EOF"},
		{"nothing but keepalives", "\n\n\n", "EOF"},
		{"nothing after the history", start, "EOF"},
		{"a refusal", "-NOMASTERLINK Can't SYNC\x1b[2J while not connected with my master\r\n",
			"NOMASTERLINK Can't SYNC?[2J while not connected"},
		{"a refusal after the history", start + "-ERR no fork\r\n", "ERR no fork"},
		{"a part of its history", "+CONTINUE " + anID + "\r\n", "not +FULLRESYNC"},
		{"an invalid history", "+FULLRESYNC x 100\r\n", "not +FULLRESYNC"},
		{"an invalid offset", "+FULLRESYNC " + anID + " -7\r\n", "not an offset"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			at := fakeRedis{info: aMaster, psync: c.psync}.start(t)
			var got bytes.Buffer
			meta, err := Redis(t.Context(), sourceOf(at), backupLogin(t), &got)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %+v, %v", meta, err)
				}
				return
			}
			if want := (Meta{ServerVersion: "8.1.1", ReplicationID: anID, Offset: 100, RDBVersion: 11}); err != nil || meta != want ||
				got.String() != aDump {
				t.Errorf("got %+v, %v and the dump %q", meta, err, got.String())
			}
		})
	}
}

// A server that is sent more, or nothing of rdb-only, takes the connection for a replica: it would confirm writes.
func TestWhatABackupSays(t *testing.T) {
	t.Parallel()
	const login, info = "*3 AUTH _backup secret ", "*1 INFO "
	const dump = "*3 REPLCONF rdb-only 1 *5 REPLCONF capa eof capa psync2 *3 PSYNC ? -1"
	// Once it has given its dump, it asks for an acknowledgement as of a replica, and leaves the connection open.
	given := fmt.Sprintf("\n+FULLRESYNC %s 100\r\n\n$%d\r\n%s*3\r\n$8\r\nREPLCONF\r\n$6\r\nGETACK\r\n$1\r\n*\r\n", anID, len(aDump), aDump)
	aReplica := func() string { return infoOf("slave", anID, "up", 100) }
	for _, c := range []struct {
		name            string
		hasReplica      bool
		master, replica string // what each is sent
	}{
		{"a master alone", false, login + info + dump, ""},
		{"a master and a replica", true, login + info, login + info + info + dump},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			toMaster, toReplica := make(chan string, 1), make(chan string, 1)
			all := []string{fakeRedis{info: aMaster, psync: given, holds: true, heard: toMaster}.start(t)}
			if c.hasReplica {
				all = append(all, fakeRedis{info: aReplica, psync: given, holds: true, heard: toReplica}.start(t))
			}
			if _, err := Redis(t.Context(), sourceOf(all...), backupLogin(t), io.Discard); err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSpace(<-toMaster); got != strings.TrimSpace(c.master) {
				t.Errorf("the master is sent %q", got)
			}
			if !c.hasReplica {
				return
			}
			if got := <-toReplica; got != c.replica {
				t.Errorf("the replica is sent %q", got)
			}
		})
	}
}

func TestADumpEndsWithItsMarkHoweverItArrives(t *testing.T) {
	mark := strings.Repeat("ab", markSize/2) // which starts over within
	content := strings.Repeat("x", 100) + mark[:30] + "b" + mark[:39]
	for chunk := 1; chunk < 50; chunk++ {
		parts := chunkReader{strings.NewReader(content + "x" + mark + "more"), chunk}
		got, err := io.ReadAll(&markedReader{from: bufio.NewReaderSize(parts, 64), mark: []byte(mark)})
		if err != nil || string(got) != content+"x" {
			t.Fatalf("in parts of %d: %q, %v", chunk, got, err)
		}
	}
}

type chunkReader struct {
	io.Reader
	size int
}

func (c chunkReader) Read(p []byte) (int, error) { return c.Reader.Read(p[:min(len(p), c.size)]) }

func TestWhatHostileServersSayAboutThemselves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, info, want string }{
		{"a huge reply", "$2147483647\r\n", "which is more than 262144 bytes or not a number"},
		{"a negative length", "$-1\r\n", `the length "-1"`},
		{"an endless line", "$" + strings.Repeat("1", maxLine), "a line of more than 1024 bytes"},
		{"a refusal", "-NOPERM User _backup has no permissions\r\n", "NOPERM User _backup has no permissions"},
		{"a status", "+OK\r\n", `the server replied "+OK", not a text`},
		{"an empty reply", "$0\r\n\r\n", `slave_repl_offset in INFO is ""`},
		{"an unknown role", infoOf("sentinel", anID, "", 1), `role in INFO is "sentinel"`},
		{"an invalid offset", strings.ReplaceAll(aMaster(), ":100", ":1e3"), `master_repl_offset in INFO is "1e3"`},
		{"an invalid history", strings.ReplaceAll(aMaster(), anID, strings.Repeat("z", 40)), "not 40 hexadecimal digits"},
		{"an invalid version", strings.ReplaceAll(aMaster(), "8.1.1", "<b>ad"), `reports the version "<b>ad"`},
		{"a server that is loading", strings.ReplaceAll(aMaster(), "loading:0", "loading:1"), "it is still loading its data"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			at := fakeRedis{info: func() string { return c.info }}.start(t)
			if _, err := Redis(t.Context(), sourceOf(at), backupLogin(t), io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Redis repeats a command that it does not know, with its arguments.
func TestAPasswordIsInNoError(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]fakeRedis{
		"at the login": {auth: "-ERR unknown command 'AUTH', with args beginning with: '_backup' 'secret'\r\n"},
		"later":        {info: func() string { return "-ERR you have said secret\r\n" }},
		"with a code":  {auth: "-WRONGPASS secret is wrong\r\n"},
	} {
		_, err := Redis(t.Context(), sourceOf(f.start(t)), backupLogin(t), io.Discard)
		if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "...") {
			t.Errorf("%s: got %v", name, err)
		}
		if backup.IsPermanent(err) != strings.HasPrefix(f.auth, "-WRONGPASS") {
			t.Errorf("%s: another attempt is of use, or is not: %v", name, err)
		}
	}
}

func TestAReplicaThatLagsIsWaitedFor(t *testing.T) {
	t.Parallel()
	dump := func(offset int) string {
		return fmt.Sprintf("+FULLRESYNC %s %d\r\n$%d\r\n%s", anID, offset, len(aDump), aDump)
	}
	master := fakeRedis{info: aMaster, psync: "-ERR the master is read\r\n"}.start(t)
	var asked atomic.Int64
	catchesUp := fakeRedis{info: func() string { return infoOf("slave", anID, "up", 97+asked.Add(1)) }, psync: dump(100)}.start(t)
	behind := fakeRedis{info: func() string { return infoOf("slave", anID, "up", 99) }, psync: "-ERR one that lags is read\r\n"}.start(t)
	unlinked := fakeRedis{info: func() string { return infoOf("slave", anID, "down", 200) },
		psync: "-ERR one without a master is read\r\n"}.start(t)
	elsewhere := fakeRedis{info: func() string { return infoOf("slave", anotherID, "up", 200) },
		psync: "-ERR one of another history is read\r\n"}.start(t)
	if _, err := Redis(t.Context(), sourceOf(behind, unlinked, elsewhere, catchesUp, master), backupLogin(t), io.Discard); err != nil ||
		asked.Load() < 3 {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}

	for name, psync := range map[string]string{
		"earlier":            dump(99),
		"of another history": strings.ReplaceAll(dump(100), anID, anotherID),
	} {
		given := fakeRedis{info: func() string { return infoOf("slave", anID, "up", 100) }, psync: psync}.start(t)
		if _, err := Redis(t.Context(), sourceOf(given, master), backupLogin(t), io.Discard); err == nil ||
			!strings.Contains(err.Error(), "the master has changed in the meantime") {
			t.Errorf("a dump that is %s: %v", name, err)
		}
	}
}

func TestAMasterOfAnotherHistoryIsNotRead(t *testing.T) {
	t.Parallel()
	master := fakeRedis{info: aMaster, psync: fmt.Sprintf("+FULLRESYNC %s 100\r\n$%d\r\n%s", anID, len(aDump), aDump)}.start(t)
	for history, isRead := range map[string]bool{anID: true, "": true, anotherID: false} {
		from := sourceOf(master)
		from.ReplicationID = history
		if _, err := Redis(t.Context(), from, backupLogin(t), io.Discard); (err == nil) != isRead || !isRead &&
			!strings.Contains(err.Error(), "the master has changed since") {
			t.Errorf("started for %q: %v", history, err)
		}
	}
}

// A ResourceQuota may admit the master's pod alone. That server has the access rules of a master with replicas: it would refuse the dump,
// and would not say why.
func TestAMasterWhoseReplicasDoNotStartIsNotRead(t *testing.T) {
	t.Parallel()
	heard := make(chan string, 1)
	from := sourceOf(fakeRedis{info: aMaster, psync: "-NOPERM User _backup has no permissions\r\n", heard: heard}.start(t))
	from.Size = 3
	if _, err := Redis(t.Context(), from, backupLogin(t), io.Discard); err == nil || backup.IsPermanent(err) ||
		!strings.Contains(err.Error(), "no replica is in sync with the master "+from.Endpoints[0]) {
		t.Errorf("got %v", err)
	}
	if said := <-heard; strings.Contains(said, "PSYNC") {
		t.Errorf("it was asked for a dump: %s", said)
	}
	for _, size := range []int32{0, 1} { // 0 is in a task of an earlier release
		from := sourceOf(fakeRedis{info: aMaster, psync: fmt.Sprintf("+FULLRESYNC %s 100\r\n$%d\r\n%s", anID, len(aDump), aDump)}.start(t))
		from.Size = size
		if _, err := Redis(t.Context(), from, backupLogin(t), io.Discard); err != nil {
			t.Errorf("of size %d: %v", size, err)
		}
	}
}

func TestAReplicaThatNeverCatchesUp(t *testing.T) {
	t.Parallel()
	master := &redisNode{endpoint: "a:6379", replication: Replication{IsMaster: true, ID: anID, Offset: 100}}
	at := fakeRedis{info: func() string { return infoOf("slave", anID, "up", 99) }}.start(t)
	replica, err := openNode(t.Context(), at, login{})
	if err != nil {
		t.Fatal(err)
	}
	defer replica.conn.close()
	if _, _, err := chooseNode(t.Context(), []*redisNode{replica, master}, false, time.Nanosecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestAServerThatFallsSilentDuringTheDump(t *testing.T) {
	t.Parallel()
	at := fakeRedis{info: aMaster, psync: "+FULLRESYNC " + anID + " 100\r\n$100\r\nREDIS", holds: true}.start(t)
	n, err := openNode(t.Context(), at, login{})
	if err != nil {
		t.Fatal(err)
	}
	defer n.conn.close()
	if _, err := n.dump(n.replication, io.Discard, 100*time.Millisecond); err == nil ||
		!strings.Contains(err.Error(), "nothing has arrived for 100ms") {
		t.Errorf("got %v", err)
	}
}
