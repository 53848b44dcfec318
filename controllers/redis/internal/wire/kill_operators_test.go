package wire

import (
	"bufio"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// KillOtherOperators closes another operator's connection; ours stays.
func TestKillOtherOperatorsEndsThem(t *testing.T) {
	p := start(t)
	other, err := net.Dial("tcp", p.hostport)
	must(t, err)
	defer func() { _ = other.Close() }()
	must(t, other.SetDeadline(time.Now().Add(20*time.Second))) // or one that is not ended is waited for
	_, err = other.Write([]byte("AUTH _operator " + password + "\r\n"))
	must(t, err)
	replies := bufio.NewReader(other)
	_, err = replies.ReadString('\n')
	must(t, err)
	must(t, p.KillOtherOperators(t.Context()))
	if _, err := replies.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("the other operator's connection: %v", err)
	}
	if got := p.Look(t.Context()).Answer; got != Reached {
		t.Errorf("ours: %v", got)
	}
}

// A process that gets the address of the one that was looked at gets no command meant for that one.
func TestALostConnectionIsNotReplaced(t *testing.T) {
	p := start(t)
	if seen := p.Look(t.Context()); seen.ServesStale {
		must(t, p.Configure(t.Context(), serveStale, "no"))
	}
	other := openWithin(p.hostport, password, nil, time.Minute)
	defer other.Close()
	must(t, other.KillOtherOperators(t.Context()))
	_ = p.ServeStale(t.Context()) // by now the loss is known
	if err := p.ServeStale(t.Context()); !errors.Is(err, errConnectionLost) {
		t.Errorf("a command: %v", err)
	}
	if seen := p.Look(t.Context()); seen.Answer != Silent {
		t.Errorf("a look: %v", seen.Answer)
	}
	if other.Look(t.Context()).ServesStale {
		t.Error("it came over another connection")
	}
	p.Redial()
	if seen := p.Look(t.Context()); seen.Answer != Reached {
		t.Errorf("over a new one: %v", seen.Answer)
	}
	must(t, p.ServeStale(t.Context()))
}
