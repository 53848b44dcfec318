package node

import (
	"bufio"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// What another operator has begun ends with its connections; ours stays.
func TestOutrankEndsOtherOperators(t *testing.T) {
	p := start(t)
	other, err := net.Dial("tcp", p.hostport)
	must(t, err)
	defer func() { _ = other.Close() }()
	must(t, other.SetDeadline(time.Now().Add(5*time.Second))) // or one that is not ended is waited for
	_, err = other.Write([]byte("AUTH _operator " + password + "\r\n"))
	must(t, err)
	replies := bufio.NewReader(other)
	_, err = replies.ReadString('\n')
	must(t, err)
	must(t, p.Outrank(t.Context()))
	if _, err := replies.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("the other operator's connection: %v", err)
	}
	if got := p.Look(t.Context()).Answer; got != Reached {
		t.Errorf("ours: %v", got)
	}
}
