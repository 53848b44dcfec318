package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

func TestADumpIsOfAReplicaThatHasAll(t *testing.T) {
	t.Parallel()
	master, lagging, replica := startRedis(t), startRedis(t), startRedis(t)
	path := startLink(t, newAddress()+":"+redisPort, master.endpoint)
	lagging.follow(path.Addr().String())
	replica.follow(master.endpoint)
	path.cut.Store(true)
	master.fill(100, 100)
	master.do("RPUSH", "list", "a", "b")
	master.do("XADD", "stream", "*", "field", "value")
	master.do("XGROUP", "CREATE", "stream", "group", "0")
	master.do("XREADGROUP", "GROUP", "group", "consumer", "STREAMS", "stream", ">")
	master.do("ZADD", "sorted", "1.5", "member")
	master.do("HSET", "hash", "field", "value")
	master.do("SADD", "set", "a", "b")
	master.do("FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('f', function() return 1 end)")
	before, lag := master.syncs(), lagging.syncs()

	file, meta := dumpTo(t, lagging.endpoint, master.endpoint, replica.endpoint)
	if meta.Keys != 105 || meta.Expires != 50 || meta.RDBVersion < 10 || checkVersion(meta.ServerVersion) != nil ||
		!replicationIDPattern.MatchString(meta.ReplicationID) || meta.Offset == 0 {
		t.Errorf("it shows %+v", meta)
	}
	if master.syncs() != before || lagging.syncs() != lag || replica.syncs() != "1" {
		t.Errorf("dumps are of the master (%s before, %s now), of the one that lags (%s, %s) or not of the other (%s)",
			before, master.syncs(), lag, lagging.syncs(), replica.syncs())
	}
	if err := VerifyRedis(t.Context(), file, shortDir(t), manifestOf(meta)); err != nil {
		t.Error(err)
	}
}

func TestADumpUnderAWriterHasWhatWasWrittenBefore(t *testing.T) {
	t.Parallel()
	master, replica := startRedis(t), startRedis(t)
	replica.follow(master.endpoint)
	ctx, stop := context.WithCancel(t.Context())
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		for n := 0; ctx.Err() == nil; n++ {
			_ = master.client.Set(ctx, fmt.Sprint("written", n), n, 0).Err()
		}
	}()
	defer func() { stop(); <-wrote }()
	eventually(t, "a writer is at work", func() bool { return master.do("DBSIZE") != "0" })
	before, err := master.client.DBSize(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	file, meta := dumpTo(t, master.endpoint, replica.endpoint)
	if meta.Keys < before {
		t.Errorf("it has %d keys, but %d were written before", meta.Keys, before)
	}
	if err := VerifyRedis(t.Context(), file, shortDir(t), manifestOf(meta)); err != nil {
		t.Error(err)
	}
}

// A master that was never followed starts a new history for the first client that asks for a dump, and keeps that (syncCommand of Redis'
// replication.c). The operator has its masters do so before it records them.
func TestAMasterAloneIsReadItself(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"yes", "no"} { // with a mark behind, and with its length before
		master := startRedis(t, "--repl-diskless-sync", mode, "--repl-backlog-ttl", "0")
		master.fill(10, 100)
		for n := range 2 {
			before := master.history()
			file, meta := dumpTo(t, master.endpoint)
			if after := master.history(); meta.ReplicationID != after || (before == after) != (n > 0) {
				t.Errorf("dump %d is of the history %s; that of the master was %s, and is %s", n, meta.ReplicationID, before, after)
			}
			if meta.Keys != 10 || meta.Expires != 5 {
				t.Errorf("it shows %+v", meta)
			}
			if err := VerifyRedis(t.Context(), file, shortDir(t), manifestOf(meta)); err != nil {
				t.Error(err)
			}
		}
		if got := master.do("INFO", "replication"); !strings.Contains(got, "connected_slaves:0") {
			t.Errorf("the backup counts as a replica: %s", got)
		}
	}
}

func TestADumpOverTLS(t *testing.T) {
	t.Parallel()
	own := authority.New("own")
	dir := writeFiles(t, own.Issue("a.ns.svc"))
	at := func(name string) string { return filepath.Join(dir, name) }
	master := startRedis(t, "--port", "0", "--tls-port", redisPort, "--tls-cert-file", at("tls.crt"), "--tls-key-file", at("tls.key"),
		"--tls-ca-cert-file", at("ca.crt"), "--tls-auth-clients", "yes")
	master.fill(10, 100)
	from := backup.Source{Endpoints: []string{master.endpoint}, TLS: true, ServerName: "a.ns.svc"}
	files := own.Issue("client")
	files["username"], files["password"], files["uid"] = []byte("_backup"), []byte("secret"), nil
	if meta, err := Redis(t.Context(), from, writeFiles(t, files), io.Discard); err != nil || meta.Keys != 10 {
		t.Errorf("got %+v, %v", meta, err)
	}
	from.ServerName = "b.ns.svc"
	if _, err := Redis(t.Context(), from, writeFiles(t, files), io.Discard); !backup.IsPermanent(err) {
		t.Errorf("a server of another name is read: %v", err)
	}
	from.ServerName, files["ca.crt"] = "a.ns.svc", authority.New("other").PEM()
	if _, err := Redis(t.Context(), from, writeFiles(t, files), io.Discard); !backup.IsPermanent(err) {
		t.Errorf("a server of another authority is read: %v", err)
	}
	files["ca.crt"] = []byte("none")
	if _, err := Redis(t.Context(), from, writeFiles(t, files), io.Discard); !backup.IsPermanent(err) {
		t.Errorf("without an authority: %v", err)
	}
}

// slowToDump starts a server whose dump takes minutes, but starts at once.
func slowToDump(t *testing.T) redisServer {
	t.Helper()
	s := startRedis(t, "--rdb-key-save-delay", "200000") // µs for each key
	s.fill(1000, 20_000)
	return s
}

// notifying reports the first write.
type notifying struct {
	bytes.Buffer
	started chan struct{}
}

func (n *notifying) Write(p []byte) (int, error) {
	if n.Len() == 0 {
		close(n.started)
	}
	return n.Buffer.Write(p)
}

func TestAServerThatDiesDuringTheDump(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, redisServer){
		"it is killed":           func(_ *testing.T, s redisServer) { s.kill() },
		"its dump is broken off": func(_ *testing.T, s redisServer) { s.do("CLIENT", "KILL", "TYPE", "replica") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			master := slowToDump(t)
			written, failed := &notifying{started: make(chan struct{})}, make(chan error)
			go func() {
				_, err := Redis(t.Context(), sourceOf(master.endpoint), backupLogin(t), written)
				failed <- err
			}()
			select {
			case <-written.started:
				end(t, master)
			case err := <-failed:
				t.Fatalf("before anything came: %v", err)
			}
			if err := <-failed; err == nil || !strings.Contains(err.Error(), "broken off") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAContextEndsADump(t *testing.T) {
	t.Parallel()
	master := slowToDump(t)
	ctx, end := context.WithCancel(t.Context())
	written, failed := &notifying{started: make(chan struct{})}, make(chan error)
	go func() {
		_, err := Redis(ctx, sourceOf(master.endpoint), backupLogin(t), written)
		failed <- err
	}()
	select {
	case <-written.started:
	case err := <-failed:
		t.Fatalf("nothing was written: %v", err)
	}
	end()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestSourcesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	master, other, replica := startRedis(t), startRedis(t), startRedis(t)
	replica.follow(master.endpoint)
	silent := newAddress() + ":" + redisPort
	for _, c := range []struct {
		name      string
		endpoints []string
		password  string
		uid       string
		want      string
		permanent bool
	}{
		{"two masters", []string{master.endpoint, other.endpoint}, "secret", "uid", "are both masters", false},
		{"no master", []string{silent, replica.endpoint}, "secret", "uid", "no server answers as a master: " + silent, false},
		{"a password that is refused", []string{master.endpoint}, "another", "uid", "WRONGPASS", true},
		{"another Redis of the name", []string{master.endpoint}, "secret", "next", `has the UID "next", and the backup was started for uid`,
			false},
		{"too many servers", make([]string, maxRedisNodes+1), "secret", "uid", "17 servers are more than 16", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := writeFiles(t, map[string]string{"username": "_backup", "password": c.password, "uid": c.uid})
			_, err := Redis(t.Context(), sourceOf(c.endpoints...), dir, io.Discard)
			if err == nil || !strings.Contains(err.Error(), c.want) || backup.IsPermanent(err) != c.permanent {
				t.Errorf("got %v, permanent %t", err, backup.IsPermanent(err))
			}
			if err != nil && strings.Contains(err.Error(), c.password) {
				t.Errorf("the error has the password: %v", err)
			}
		})
	}
	if _, err := Redis(t.Context(), sourceOf(master.endpoint), t.TempDir(), io.Discard); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a login: %v", err)
	}
}
