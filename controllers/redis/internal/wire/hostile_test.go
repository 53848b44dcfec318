package wire

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"github.com/mainstay-operator/mainstay-operator/test/hostile"
)

// timeoutFor returns a short time for a server that is slow by its sort, and a long one for any other.
func timeoutFor(sort hostile.Behavior) time.Duration {
	if sort == hostile.Drip || sort == hostile.Silence {
		return replyTimeout
	}
	return time.Minute
}

// Whatever answers, a look ends and says what can be said of the server.
func TestALookAtAHostileServer(t *testing.T) {
	for _, c := range []struct {
		sort   hostile.Behavior
		answer Answer
		why    string
	}{
		{hostile.Length, Silent, `"9223372036854775800" is no length that a reply may have`},
		{hostile.Line, Silent, `it has a line of more than 4096 bytes: "+aaa`},
		{hostile.Depth, Silent, "its lists are more than 6 deep"},
		{hostile.Count, Silent, "its lists have more than 4096 elements: one of 1000000000"},
		{hostile.Encoding, Silent, `"slave0" in INFO is at "\xff\xfe\xfd", not an address or a name of a host`},
		{hostile.Drip, Silent, ""},
		{hostile.Silence, Silent, ""},
		{hostile.Push, Silent, `it starts with none of the types of RESP2: ">2"`},
		{hostile.Replicas, Silent, "it has more than 524288 bytes: a string of "},
		{hostile.Labels, Reached, ""},
	} {
		t.Run(string(c.sort), func(t *testing.T) {
			t.Parallel()
			liar := hostile.Start(t, c.sort, "")
			s := newServer(func(ctx context.Context, _ *atomic.Bool) (net.Conn, error) {
				conn, err := dialAddress(ctx, net.Dialer{}, liar.Address)
				return &limitedConn{Conn: conn}, err
			}, password, time.Minute, timeoutFor(c.sort))
			defer s.Close()
			v := s.Look(t.Context())
			if v.Answer != c.answer || !strings.Contains(v.Unreadable, c.why) || (c.why == "") != (v.Unreadable == "") {
				t.Errorf("got %+v", v)
			}
			if len(v.Attached) > maxAttached {
				t.Errorf("%d replicas are reported", len(v.Attached))
			}
			if met := liar.Met.Load(); met != 1 {
				t.Errorf("it was connected to %d times", met)
			}
		})
	}
}

func TestEverySortIsLookedAt(t *testing.T) {
	if got := len(hostile.Behaviors()); got != 10 {
		t.Errorf("there are %d sorts: the tables of this file have 10", got)
	}
}

// Whatever answers, a watch keeps unreadable replies from its handler, and does not connect again at once.
func TestAWatchOfAHostileServer(t *testing.T) {
	for _, c := range []struct {
		sort hostile.Behavior
		met  bool
		why  string
	}{
		{hostile.Length, true, `"9223372036854775800" is no length`},
		{hostile.Line, true, "a line of more than 4096 bytes"},
		{hostile.Depth, true, "more than 6 deep"},
		{hostile.Count, true, "one of 1000000000"},
		{hostile.Encoding, true, `ROLE names "\xff\xfe\xfd", which is neither an address nor a name of a host`},
		{hostile.Drip, false, ""},
		{hostile.Silence, false, ""},
		{hostile.Push, false, "none of the types of RESP2"},
		{hostile.Replicas, true, "more than 4096 elements: one of "},
		{hostile.Labels, true, ""},
	} {
		t.Run(string(c.sort), func(t *testing.T) {
			t.Parallel()
			liar := hostile.Start(t, c.sort, "")
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			met, why := watchOnce(ctx, liar.Address, 2*timeoutFor(c.sort), WatchHandler{OnChange: func() {}, OnReply: func(behind map[string]int64) {
				stop() // it would continue
				for address := range behind {
					if !isHost(address) || len(behind) > maxAttached {
						t.Errorf("it is heard of %q among %d", address, len(behind))
					}
				}
			}})
			if met != c.met || !strings.Contains(why, c.why) || (c.why == "") != (why == "") {
				t.Errorf("met %t, %q", met, why)
			}
			if met := liar.Met.Load(); met != 1 {
				t.Errorf("it was connected to %d times", met)
			}
		})
	}
}

// A bug of ours in a watch handler ends neither the watch nor the process.
func TestAPanicDoesNotEndAWatch(t *testing.T) {
	liar := hostile.Start(t, hostile.Labels, "")
	met, why := watchOnce(logr.NewContext(t.Context(), logr.Discard()), liar.Address, time.Minute,
		WatchHandler{OnReply: func(map[string]int64) { panic("in the watch handler") }})
	if !met || !strings.Contains(why, "a bug of the operator made it panic") {
		t.Errorf("met %t, %q", met, why)
	}
}

func FuzzRole(f *testing.F) {
	f.Fuzz(func(t *testing.T, reply []byte) {
		words, err := readReply(bufio.NewReader(&limitedConn{Conn: scriptedConn{Reader: strings.NewReader(string(reply))}}))
		if err != nil || checkRole(words) != nil {
			return
		}
		if state := describeRole(words); len(state) > maxAttached*256 {
			t.Errorf("it is remembered by %d bytes", len(state))
		}
		for address, bytes := range replicaLag(words) {
			if !isHost(address) || bytes < 0 {
				t.Errorf("%q is %d behind", address, bytes)
			}
		}
	})
}

// The library itself, over a limitedConn: whatever is answered to its greeting and to INFO.
func FuzzLook(f *testing.F) {
	f.Fuzz(func(t *testing.T, replies []byte) {
		ours, theirs := net.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			go func() { _, _ = io.Copy(io.Discard, theirs) }()
			_, _ = theirs.Write(replies)
			_ = theirs.Close()
		}()
		s := newServer(func(context.Context, *atomic.Bool) (net.Conn, error) { return &limitedConn{Conn: ours}, nil }, password, time.Minute,
			time.Minute)
		v := s.Look(t.Context())
		s.Close()
		_ = ours.Close()
		<-done
		if v.Answer == Reached && !idPattern.MatchString(v.RunID) || len(v.Unreadable) > 1024 {
			t.Errorf("got %+v", v)
		}
	})
}
