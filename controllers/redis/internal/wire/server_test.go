package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const password = "secret"

const acl = `user default on nopass ~* &* +@all
user _operator on >` + password + ` ~* +@all
user _probe on nopass -@all +ping +role
`

// process is a real redis-server on loopback, born fenced as in a pod.
type process struct {
	*Server
	hostport string
	command  *exec.Cmd
}

func start(t *testing.T) *process {
	t.Helper()
	return launch(t, nil, "--port")
}

// launch starts a server; the port is added to the end of the arguments.
func launch(t *testing.T, secure *tls.Config, args ...string) *process {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("these tests speak with a real redis-server: apt-get install redis-server")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	hostport := listener.Addr().String()
	_ = listener.Close()
	dir := t.TempDir()
	users := filepath.Join(dir, "users.acl")
	if err := os.WriteFile(users, []byte(acl), 0o600); err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(hostport)
	command := exec.Command(binary, slices.Concat(args, []string{port, "--bind", "127.0.0.1", "--dir", dir, "--save", "",
		"--aclfile", users, "--replicaof", FenceHost, "1", "--repl-diskless-sync-delay", "0"})...)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	eventually(t, "the server listens", func() bool {
		conn, err := net.Dial("tcp", hostport)
		return err == nil && conn.Close() == nil
	})
	// A Server never dials again by itself: on a busy machine one late reply would end the test.
	p := &process{Server: openWithin(hostport, password, secure, time.Minute), hostport: hostport, command: command}
	t.Cleanup(p.Close)
	return p
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("never came true: %s", what)
		}
	}
}

func (p *process) follow(t *testing.T, master *process) {
	t.Helper()
	host, port, _ := net.SplitHostPort(master.hostport)
	if err := p.do(t.Context(), "REPLICAOF", host, port); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the link is up", func() bool { return p.Look(t.Context()).LinkUp })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestBornFenced(t *testing.T) {
	p := start(t)
	if view := p.Look(t.Context()); !view.Fenced() || view.Master || view.RunID == "" {
		t.Fatalf("want a fenced server, got %+v", view)
	}
	if err := p.do(t.Context(), "SET", "k", "v"); err == nil || !strings.HasPrefix(err.Error(), "[SET k v]: READONLY") {
		t.Fatalf("a fenced server took a write: %v", err)
	}
}

func TestFenceKeepsHistoryAndOffset(t *testing.T) {
	master, replica := start(t), start(t)
	must(t, master.Promote(t.Context(), 0))
	replica.follow(t, master)
	must(t, master.do(t.Context(), "SET", "k", "v"))
	written := master.Look(t.Context())
	eventually(t, "the write arrives", func() bool { return replica.Look(t.Context()).Offset >= written.Offset })

	must(t, replica.Fence(t.Context()))
	fenced := replica.Look(t.Context())
	if !fenced.Fenced() || fenced.ReplID != written.ReplID || fenced.Offset < written.Offset || fenced.Keys != 1 {
		t.Fatalf("the fence lost its place: %+v after %+v", fenced, written)
	}
}

func TestFencedMasterStillFeedsItsReplicas(t *testing.T) {
	master, replica := start(t), start(t)
	must(t, master.Promote(t.Context(), 0))
	replica.follow(t, master)
	must(t, master.do(t.Context(), "SET", "k", "v"))
	must(t, master.Fence(t.Context()))
	last := master.Look(t.Context())
	eventually(t, "the replica has all", func() bool {
		view := replica.Look(t.Context())
		return view.ReplID == last.ReplID && view.Offset >= last.Offset && view.Keys == 1
	})
}

func TestPromoteSetsMinReplicasFirst(t *testing.T) {
	p := start(t)
	must(t, p.Promote(t.Context(), 1))
	if view := p.Look(t.Context()); !view.Master || view.MinReplicas != 1 {
		t.Fatalf("got %+v", view)
	}
	if err := p.do(t.Context(), "SET", "k", "v"); err == nil || !strings.Contains(err.Error(), "NOREPLICAS") {
		t.Fatalf("wrote without a replica: %v", err)
	}
}

func TestAnswers(t *testing.T) {
	p := start(t)
	other := openWithin(p.hostport, "wrong", nil, time.Minute)
	defer other.Close()
	if got := other.Look(t.Context()).Answer; got != AuthFailed {
		t.Errorf("wrong password: %v", got)
	}
	must(t, p.command.Process.Kill())
	_ = p.command.Wait()
	if got := p.Look(t.Context()).Answer; got == Reached {
		t.Errorf("killed, first look: %v", got)
	}
	fresh := openWithin(p.hostport, password, nil, time.Minute)
	defer fresh.Close()
	if got := fresh.Look(t.Context()).Answer; got != Refused {
		t.Errorf("killed, fresh look: %v", got)
	}
}

// watched starts a watch that ends with the test, and returns a channel that gets a value for each change.
func (p *process) watched(t *testing.T, interval time.Duration, ear WatchHandler) <-chan struct{} {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	news, done := make(chan struct{}, 16), make(chan struct{})
	ear.OnChange = func() { news <- struct{}{} }
	if ear.OnReply == nil {
		ear.OnReply = func(map[string]int64) {}
	}
	go func() { defer close(done); watch(ctx, p.hostport, interval, ear) }()
	t.Cleanup(func() { stop(); <-done })
	return news
}

func TestWatchReportsRoleAndEnd(t *testing.T) {
	p := start(t)
	news := p.watched(t, 200*time.Millisecond, WatchHandler{})
	<-news // it is there
	must(t, p.Promote(t.Context(), 0))
	<-news // it is master
	replica := start(t)
	replica.follow(t, p)
	<-news // it is followed
	must(t, p.command.Process.Kill())
	<-news // it has ended
}

// A watch notices a server's end by the end of the connection, long before it asks again.
func TestWatchHearsTheEndAtOnce(t *testing.T) {
	p := start(t)
	news := p.watched(t, time.Hour, WatchHandler{})
	<-news // it is there
	must(t, p.command.Process.Kill())
	eventually(t, "the end is heard", func() bool { return len(news) == 1 })
}

// A server that cannot save what it has refuses writes, and takes them again when it can.
func TestADiskErrorIsSeen(t *testing.T) {
	p := start(t)
	news := p.watched(t, 100*time.Millisecond, WatchHandler{})
	<-news // it is there
	limit := func(bytes string) {
		t.Helper()
		must(t, exec.Command("prlimit", "--pid", strconv.Itoa(p.command.Process.Pid), "--fsize="+bytes).Run())
		must(t, p.do(t.Context(), "BGSAVE"))
	}
	// On a busy machine the watch may report a slow reply first, while the save still runs.
	expect := func(what string, misconf bool) {
		t.Helper()
		<-news
		eventually(t, what, func() bool {
			v := p.Look(t.Context())
			return v.Answer == Reached && v.Misconf == misconf
		})
	}
	must(t, p.do(t.Context(), "CONFIG", "SET", "save", "3600 1"))
	limit("10:unlimited")
	expect("the server refuses writes", true)
	limit("unlimited")
	expect("the server accepts writes again", false)
}

func TestSendAwayEndsApplicationsOnly(t *testing.T) {
	p, replica := start(t), start(t)
	must(t, p.Promote(t.Context(), 0))
	replica.follow(t, p)
	connect := func(greeting string) chan struct{} {
		conn, err := net.Dial("tcp", p.hostport)
		must(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		must(t, conn.SetDeadline(time.Now().Add(20*time.Second))) // or who is not sent away is waited for
		_, err = conn.Write([]byte(greeting))
		must(t, err)
		_, err = bufio.NewReader(conn).ReadString('\n')
		must(t, err)
		ended := make(chan struct{}, 1)
		go func() {
			if _, err := io.Copy(io.Discard, conn); err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("it is not sent away: %v", err)
			}
			ended <- struct{}{}
		}()
		return ended
	}
	application, subscriber, probe := connect("PING\r\n"), connect("SUBSCRIBE news\r\n"), connect("AUTH _probe -\r\n")
	must(t, p.KillClients(t.Context()))
	<-application
	<-subscriber
	if len(probe) != 0 || !replica.Look(t.Context()).LinkUp {
		t.Error("the probe or the replica was sent away too")
	}
}

func TestWatchReportsSilence(t *testing.T) {
	p := start(t)
	var heard atomic.Int32
	news := p.watched(t, 200*time.Millisecond, WatchHandler{OnReply: func(map[string]int64) { heard.Add(1) }})
	<-news // it is there
	must(t, p.command.Process.Signal(syscall.SIGSTOP))
	<-news // it is silent
	before := heard.Load()
	impatient := open(p.hostport, password, nil)
	defer impatient.Close()
	if view := impatient.Look(t.Context()); view.Answer != Silent {
		t.Errorf("a stopped server: %v", view.Answer)
	}
	if heard.Load() != before {
		t.Error("heard of a stopped server")
	}
	must(t, p.command.Process.Signal(syscall.SIGCONT))
	<-news // it is back
}

// An operator that was stopped in the middle of an act and wakes must not continue.
func TestNothingIsSentAfterTheActsEnd(t *testing.T) {
	p := start(t)
	p.Look(t.Context()) // connected
	ctx, done := context.WithDeadline(t.Context(), time.Now().Add(-time.Millisecond))
	defer done()
	if err := p.Promote(ctx, 0); err == nil {
		t.Error("promoted after the end")
	}
	if p.Look(t.Context()).Master {
		t.Error("the command was sent")
	}
}

// Another pod may get the address of one that is gone.
func TestWatchToleratesAnyServer(t *testing.T) {
	for answer, want := range map[string]bool{
		"+OK\r\n*0\r\n": true,
		"+OK\r\n" + strings.Repeat("*1\r\n", 100): false, // in one breath with the answer to AUTH
		"*0\r\n":                       true,
		"+OK\r\n*1\r\n":                true,
		"HTTP/1.1 400 Bad Request\r\n": false,
		"":                             false,
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		go func() {
			if conn, err := listener.Accept(); err == nil {
				_, _ = conn.Write([]byte(answer))
				_, _ = conn.Read(make([]byte, 64))
				_ = conn.Close()
			}
		}()
		if got, _ := watchConnection(t.Context(), listener.Addr().String(), time.Minute,
			WatchHandler{OnReply: func(map[string]int64) {}, OnChange: func() {}}); got != want {
			t.Errorf("%q: %t", answer, got)
		}
		_ = listener.Close()
	}
}
