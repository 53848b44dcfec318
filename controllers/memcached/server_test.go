package memcached

import (
	"bufio"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// The schema is tested with the same table: what it admits starts.
func TestMemcachedStartsWithTheseItemSizes(t *testing.T) {
	for _, sizes := range builders.ItemSizes {
		t.Run(sizes.String(), func(t *testing.T) {
			m := newMemcached(func(s *cachev1alpha1.MemcachedSpec) { s.Port = freePort(t) })
			chosen := sizes.Set(builders.Memcached("")).Build().Spec
			m.Spec.Memory, m.Spec.MaxItemSize, m.Spec.Options = chosen.Memory, chosen.MaxItemSize, chosen.Options
			if got, words := startsAndServes(t, m, answers(1)); got != sizes.Starts {
				t.Errorf("it starts: %t: %s", got, words)
			}
		})
	}
}

func freePort(t *testing.T) int32 {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() //nolint:errcheck // it was listened on, and that is all
	return int32(listener.Addr().(*net.TCPAddr).Port)
}

// A node with the fewest connections and any number of threads starts, and accepts as many as it is to.
func TestANodeAcceptsItsConnections(t *testing.T) {
	for _, threads := range []int32{1, 4, 16, 64} {
		m := newMemcached(func(s *cachev1alpha1.MemcachedSpec) { s.Port, s.Connections, s.Threads = freePort(t), 16, threads })
		if serves, words := startsAndServes(t, m, answers(int(m.Spec.Connections))); !serves {
			t.Errorf("with %d threads: %s", threads, words)
		}
	}
}

// answers asks over so many connections at once, and returns an error unless each is answered.
func answers(connections int) func(address string) error {
	return func(address string) error {
		for range connections {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				return err
			}
			defer conn.Close() //nolint:errcheck // it was read from, and that is all
			if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
				return err
			}
			if _, err := conn.Write([]byte("version\r\n")); err != nil {
				return err
			}
			reply, err := bufio.NewReader(conn).ReadString('\n')
			if err != nil {
				return err
			}
			if !strings.HasPrefix(reply, "VERSION") {
				return fmt.Errorf("it answers %q", reply)
			}
		}
		return nil
	}
}

// startsAndServes reports whether a real memcached starts with the arguments of a node and passes the check, and what it says if
// not.
func startsAndServes(t *testing.T, m *cachev1alpha1.Memcached, check func(address string) error) (serves bool, words string) {
	t.Helper()
	binary, err := exec.LookPath("memcached")
	if err != nil {
		t.Fatal("this test starts a real memcached: apt-get install memcached")
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(int(m.Spec.Port)))
	var said strings.Builder
	command := exec.Command(binary, append(arguments(m, parts.CurrentDefaults), "-l", "127.0.0.1", "-u", "root")...)
	command.Stderr = &said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = command.Wait() // how it ended is its state
		close(ended)
	}()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(time.Minute); ; {
		select {
		case <-ended:
			return false, fmt.Sprintf("%s: %s", command.ProcessState, said.String())
		case <-deadline:
			_ = command.Process.Kill()
			t.Fatal("it neither serves nor exits")
		case <-tick.C:
		}
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			err := check(address)
			_ = command.Process.Kill()
			<-ended
			if err != nil {
				return false, err.Error()
			}
			return true, ""
		}
	}
}
