package source

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// redisPort is that of all servers: each has an address of its own.
const redisPort = "6379"

// redisServer is a real server.
type redisServer struct {
	process
	endpoint string
	client   *redis.Client
}

// startRedis starts a server as the operator has it, with the user for backups, and waits until it serves.
func startRedis(t *testing.T, words ...string) redisServer {
	t.Helper()
	address, dir := newAddress(), t.TempDir()
	s := redisServer{endpoint: address + ":" + redisPort}
	socket := filepath.Join(shortDir(t), "socket")
	s.process = startProcess(t, "redis-server", append([]string{
		"--bind", address, "--bind-source-addr", address, "--port", redisPort, "--unixsocket", socket, "--dir", dir, "--save", "",
		"--protected-mode", "no",
		"--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1", "--enable-debug-command", "yes",
		"--user", "_backup", "on", ">secret", "-@all", "+info", "+psync", "+replconf",
	}, words...)...)
	s.client = redis.NewClient(&redis.Options{Network: "unix", Addr: socket, DialerRetries: 1, ReadTimeout: time.Minute,
		WriteTimeout: time.Minute})
	t.Cleanup(func() { _ = s.client.Close() })
	eventually(t, "it serves", func() bool { return s.client.Ping(t.Context()).Err() == nil })
	return s
}

func (r redisServer) do(words ...any) string {
	r.t.Helper()
	reply, err := r.client.Do(r.t.Context(), words...).Result()
	if err != nil {
		r.t.Fatalf("%v: %v", words, err)
	}
	return fmt.Sprint(reply)
}

// follow makes the server a replica of the one at that endpoint, and waits until it is in sync.
func (r redisServer) follow(endpoint string) {
	r.t.Helper()
	host, port, _ := strings.Cut(endpoint, ":")
	r.do("REPLICAOF", host, port)
	eventually(r.t, "it is in sync", func() bool { return strings.Contains(r.do("INFO", "replication"), "master_link_status:up") })
}

// fill writes so many keys of that size, half of them with a time to live. Random values do not shrink.
func (r redisServer) fill(count, size int) {
	r.t.Helper()
	value := make([]byte, size)
	_, _ = rand.Read(value)
	pipe := r.client.Pipeline()
	for n := range count {
		words := []any{"SET", fmt.Sprint("key", n), value}
		if n%2 == 0 {
			words = append(words, "EX", 3600)
		}
		pipe.Do(r.t.Context(), words...)
	}
	if _, err := pipe.Exec(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// syncs counts the full copies that the server has given.
func (r redisServer) syncs() string { return r.field("sync_full") }

// history is the server's replication ID.
func (r redisServer) history() string { return r.field("master_replid") }

// field of INFO.
func (r redisServer) field(name string) string {
	r.t.Helper()
	for line := range strings.Lines(r.do("INFO")) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return value
		}
	}
	r.t.Fatalf("INFO has no %s", name)
	return ""
}

func backupLogin(t *testing.T) string {
	t.Helper()
	return writeFiles(t, map[string]string{"username": "_backup\n", "password": "secret", "uid": "uid"})
}

// dumpTo writes a dump into a new file, and returns its name.
func dumpTo(t *testing.T, endpoints ...string) (string, Meta) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	meta, err := Redis(t.Context(), sourceOf(endpoints...), backupLogin(t), file)
	if err != nil {
		t.Fatal(err)
	}
	return file.Name(), meta
}

func manifestOf(m Meta) backup.Manifest {
	return backup.Manifest{Revision: m.Revision, Keys: m.Keys, Expires: m.Expires, RDBVersion: m.RDBVersion}
}
