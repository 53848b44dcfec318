package memcached

import (
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// The schema is tested with the same table: what it admits starts.
func TestMemcachedStartsWithTheseItemSizes(t *testing.T) {
	for _, sizes := range builders.ItemSizes {
		t.Run(sizes.String(), func(t *testing.T) {
			m := newMemcached(func(s *cachev1alpha1.MemcachedSpec) { s.Port = freePort(t) })
			chosen := sizes.Set(builders.Memcached("")).Build().Spec
			m.Spec.Memory, m.Spec.MaxItemSize, m.Spec.Options = chosen.Memory, chosen.MaxItemSize, chosen.Options
			if got, words := startsAndServes(t, m); got != sizes.Starts {
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

// startsAndServes reports whether a real memcached serves with the arguments of a node, and what it says before it
// exits.
func startsAndServes(t *testing.T, m *cachev1alpha1.Memcached) (serves bool, words string) {
	t.Helper()
	binary, err := exec.LookPath("memcached")
	if err != nil {
		t.Fatal("this test starts a real memcached: apt-get install memcached")
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(int(m.Spec.Port)))
	var said strings.Builder
	command := exec.Command(binary, append(arguments(m), "-l", "127.0.0.1", "-u", "root")...)
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
			_ = command.Process.Kill()
			<-ended
			return true, ""
		}
	}
}
