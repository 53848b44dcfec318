package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// listenOnce accepts one connection and returns, when that has ended, all that was sent over it.
func listenOnce(t *testing.T) (hostport string, heard <-chan string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	all := make(chan string, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		buffer := make([]byte, 4<<10)
		n, _ := io.ReadAtLeast(conn, buffer, 1)
		_ = conn.Close()
		all <- string(buffer[:n])
	}()
	return listener.Addr().String(), all
}

// Anyone who has the address hears nothing until it is confirmed.
func TestNothingIsSentBeforeTheAddressIsConfirmed(t *testing.T) {
	for reason, confirms := range map[string]error{"a pod of ours has the address": nil,
		"another pod has the address": errors.New("another's")} {
		t.Run(reason, func(t *testing.T) {
			hostport, heard := listenOnce(t)
			s := openConfirmed(hostport, password, nil, time.Minute, func(context.Context) error { return confirms })
			defer s.Close()
			if v := s.Look(t.Context()); v.Answer != Silent {
				t.Errorf("got %+v", v)
			}
			if got := <-heard; strings.Contains(got, password) != (confirms == nil) || confirms != nil && got != "" {
				t.Errorf("it heard %q", got)
			}
		})
	}
}

// Each connection is confirmed again.
func TestEachConnectionIsConfirmed(t *testing.T) {
	p, asked := start(t), 0
	s := openConfirmed(p.hostport, password, nil, time.Minute, func(context.Context) error { asked++; return nil })
	defer s.Close()
	for want := range 2 {
		for range 2 {
			if v := s.Look(t.Context()); v.Answer != Reached || asked != want+1 {
				t.Errorf("got %v after %d questions", v.Answer, asked)
			}
		}
		s.Redial()
	}
}

// An address that no pod has says only whether it refuses.
func TestAKnockSendsNothing(t *testing.T) {
	hostport, heard := listenOnce(t)
	knock := func() Answer {
		s := openConfirmed(hostport, "", nil, time.Minute, func(context.Context) error { return errNoPod })
		defer s.Close()
		return s.Look(t.Context()).Answer
	}
	if got := knock(); got != Silent {
		t.Errorf("somebody listens: %v", got)
	}
	if got := <-heard; got != "" {
		t.Errorf("it heard %q", got)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	hostport = listener.Addr().String()
	must(t, listener.Close())
	if got := knock(); got != Refused {
		t.Errorf("no one listens: %v", got)
	}
}

// An API server that does not say in time whose address it is proves nothing about the server there, however short the look.
func TestAnAddressThatIsNotConfirmedInTimeIsNotSilent(t *testing.T) {
	unknown := func(context.Context) error { return fmt.Errorf("asking: %w", ErrNotFoundOut) }
	slow := func(ctx context.Context) error {
		<-ctx.Done()
		return fmt.Errorf("asking: %w: %w", ErrNotFoundOut, ctx.Err())
	}
	for reason, c := range map[string]struct {
		confirm Confirm
		asks    int // so many looks over the same connection
	}{"the API server fails": {unknown, 2}, "it takes longer than the look": {slow, 1}} {
		t.Run(reason, func(t *testing.T) {
			hostport, heard := listenOnce(t)
			s := openConfirmed(hostport, password, nil, time.Minute, c.confirm)
			ctx, done := context.WithTimeout(t.Context(), 2*dialTimeout)
			defer done()
			for range c.asks {
				if v := s.Look(ctx); v.Answer != Unconfirmed {
					t.Errorf("got %+v", v)
				}
			}
			s.Close()
			if got := <-heard; got != "" {
				t.Errorf("it heard %q", got)
			}
		})
	}
	p := start(t)
	late := true
	s := openConfirmed(p.hostport, password, nil, time.Minute, func(ctx context.Context) error {
		if late {
			return unknown(ctx)
		}
		return nil
	})
	defer s.Close()
	first := s.Look(t.Context()).Answer
	late = false
	s.Redial()
	if then := s.Look(t.Context()).Answer; first != Unconfirmed || then != Reached {
		t.Errorf("first %v, then %v", first, then)
	}
}
