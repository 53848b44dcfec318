package fault

import (
	"context"
	"errors"
	"net"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// server starts a redis-server on loopback that has no replicas.
func server(t *testing.T) (dial func() *redis.Client) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	hostport := listener.Addr().String()
	_ = listener.Close()
	_, port, _ := net.SplitHostPort(hostport)
	command := exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", t.TempDir(), "--save", "")
	if err := command.Start(); err != nil {
		t.Fatalf("these tests write to a real redis-server: apt-get install redis-server: %v", err)
	}
	t.Cleanup(func() { _, _ = command.Process.Kill(), command.Wait() })
	dial = func() *redis.Client {
		return redis.NewClient(&redis.Options{Addr: hostport, MaxRetries: -1, DisableIdentity: true,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}})
	}
	client := dial()
	defer client.Close() //nolint:errcheck // it was only asked whether it is there
	until(t, "the server answers", func() bool { return client.Ping(t.Context()).Err() == nil })
	return dial
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	for !holds() {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-deadline:
			t.Fatalf("never came true: %s", what)
		}
	}
}

func TestWriter(t *testing.T) {
	dial := server(t)
	plain, confirming := NewPlainWriter("plain-", dial), NewWriter("confirmed-", dial)
	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	writing.Go(func() { plain.Run(ctx) })
	writing.Go(func() { confirming.Run(ctx) })
	until(t, "twenty plain writes", func() bool { return plain.Written() >= 20 })
	until(t, "writes fail that no replica confirms", func() bool { return len(confirming.Failures()) > 0 })
	stop()
	writing.Wait()

	if confirming.Written() != 0 {
		t.Errorf("%d writes were confirmed by no server", confirming.Written())
	}
	if refusals := confirming.Refusals(); len(refusals) != 0 {
		t.Errorf("a write that no replica confirmed in time counts as refused: %v", refusals)
	}
	if gap := plain.Outage(); gap.Length() <= 0 || plain.Outage() != (Gap{}) {
		t.Errorf("the longest gap, %s, is reported once", gap.Length())
	}
	if lost, err := plain.Lost(t.Context()); err != nil || len(lost) != 0 {
		t.Errorf("lost %v: %v", lost, err)
	}
	client := dial()
	defer client.Close() //nolint:errcheck // the test is over
	if err := errors.Join(client.Del(t.Context(), "plain-3").Err(), client.Set(t.Context(), "plain-5", "4", 0).Err()); err != nil {
		t.Fatal(err)
	}
	if lost, err := plain.Lost(t.Context()); err != nil || !slices.Equal(lost, []string{"plain-3", "plain-5"}) {
		t.Errorf("lost %v, want what was deleted and what was changed: %v", lost, err)
	}
}
