package source

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// TestMain lets the tests find etcd and etcdutl as they are found in an image: on the path.
func TestMain(m *testing.M) {
	bin, err := filepath.Abs("../../../.bin")
	if err == nil {
		err = os.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	}
	if err != nil {
		panic(err)
	}
	redis.SetLogger(&logging.VoidLogger{}) // of a server that does not answer yet
	os.Exit(m.Run())
}

var addresses atomic.Int32

// newAddress is one of the loopback's network that no one else has: loopback is a /8.
func newAddress() string {
	n := int(addresses.Add(1))
	return fmt.Sprintf("127.%d.%d.%d", 20+os.Getpid()%50, (os.Getpid()/50+n/250)%256, 1+n%250)
}

// process is a server that the test has started.
type process struct {
	*exec.Cmd
	t *testing.T
}

// startProcess starts a program, which ends with the test at the latest.
func startProcess(t *testing.T, program string, words ...string) process {
	t.Helper()
	p, printed := process{exec.Command(program, words...), t}, &lastWords{}
	p.Stdout, p.Stderr = printed, printed
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(program, " has printed: ", printed)
		}
	})
	if err := p.Start(); err != nil {
		t.Fatalf("%v; `make test-programs` brings the servers that these tests speak with", err)
	}
	t.Cleanup(p.kill)
	return p
}

// kill ends the process at once. A second time it does nothing.
func (p process) kill() {
	_ = p.Process.Kill()
	_ = p.Wait()
}

// signal the process, which the test has started.
func (p process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// eventually waits until that is so.
func eventually(t *testing.T, what string, isSo func() bool) {
	t.Helper()
	deadline, tick := time.NewTimer(time.Minute), time.NewTicker(10*time.Millisecond)
	defer deadline.Stop()
	defer tick.Stop()
	for !isSo() {
		select {
		case <-deadline.C:
			t.Fatal("not in a minute: ", what)
		case <-tick.C:
		}
	}
}

// writeFiles writes files into a new directory, and returns that.
func writeFiles[T string | []byte](t *testing.T, files map[string]T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// shortDir is an empty directory whose name is short enough for sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "v")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// link passes on what is sent to a server, until it is cut, which neither side notices.
type link struct {
	net.Listener
	cut atomic.Bool
}

func startLink(t *testing.T, address, to string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	l := &link{Listener: listener}
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				_ = from.Close()
				continue
			}
			t.Cleanup(func() { _, _ = from.Close(), server.Close() })
			go l.pass(from, server)
			go l.pass(server, from)
		}
	}()
	return l
}

func (l *link) pass(from, to net.Conn) {
	part := make([]byte, 32<<10)
	for {
		n, err := from.Read(part)
		if n > 0 && !l.cut.Load() {
			_, _ = to.Write(part[:n])
		}
		if err != nil {
			_ = to.Close()
			return
		}
	}
}

func sourceOf(endpoints ...string) backup.Source {
	return backup.Source{UID: "uid", Endpoints: endpoints}
}
