// Package hostile has servers that lie, stall and flood, one of each sort: what a user may run in
// the place of Redis or memcached. Tests start them on loopback; hostile/server runs one in a pod.
package hostile

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Behavior is the sort of a hostile server.
type Behavior string

// The sorts. Besides what they are named after, they answer as an honest server does.
const (
	// Length announces a string of nearly 2^63 bytes.
	Length Behavior = "length"
	// Line never ends one.
	Line Behavior = "line"
	// Depth opens a list within a list, without end.
	Depth Behavior = "depth"
	// Count announces a list of a billion elements.
	Count Behavior = "count"
	// Encoding names a replica by what is no UTF-8.
	Encoding Behavior = "encoding"
	// Drip sends a byte a second.
	Drip Behavior = "drip"
	// Silence takes the connection, and says nothing.
	Silence Behavior = "silence"
	// Push sends without end what no client has asked for.
	Push Behavior = "push"
	// Replicas are 10,000, at addresses and by names that belong to others.
	Replicas Behavior = "replicas"
	// Labels are new ones each time: ids, a version and addresses that look as they should.
	Labels Behavior = "labels"
)

// Forged replicas of a server of sort Replicas.
const Forged = 10_000

// DripInterval of a server of sort Drip.
const DripInterval = time.Second

// answers of each sort to a command that it does not answer honestly; false for an honest answer.
var answers = map[Behavior]func(p *peer, command string) bool{
	Length: asked(func(p *peer, _ string) { _ = p.say("$9223372036854775800\r\nx") }),
	Line:   asked(func(p *peer, _ string) { p.flood("+a", strings.Repeat("a", 4<<10)) }),
	Depth:  asked(func(p *peer, _ string) { p.flood("", strings.Repeat("*1\r\n", 1<<10)) }),
	Count:  asked(func(p *peer, _ string) { p.flood("*1000000000\r\n", strings.Repeat(":1\r\n", 1<<10)) }),
	Encoding: asked(func(p *peer, command string) {
		_ = p.say(state(command, strings.Repeat("a", 40), []string{"\xff\xfe\xfd"}))
	}),
	Drip:    drip,
	Silence: func(*peer, string) bool { return true },
	Push: func(p *peer, _ string) bool {
		p.flood("", strings.Repeat(">2\r\n$7\r\nmessage\r\n$1\r\nx\r\n", 1<<8))
		return true
	},
	Replicas: asked(func(p *peer, command string) { _ = p.say(state(command, strings.Repeat("a", 40), forged(0, Forged))) }),
	Labels:   asked(labels),
}

// Behaviors that there are, in order of their names.
func Behaviors() []Behavior { return slices.Sorted(maps.Keys(answers)) }

// asked answers so what the operator asks for, and the rest honestly: a client that is refused at the
// door does no harm.
func asked(say func(p *peer, command string)) func(*peer, string) bool {
	return func(p *peer, command string) bool {
		switch command {
		case "INFO", "ROLE", "REFRESH_CERTS":
			say(p, command)
			return true
		}
		return false
	}
}

func drip(p *peer, command string) bool {
	for _, b := range []byte(honest(command)) {
		if p.say(string(b)) != nil || !p.wait(DripInterval) {
			break
		}
	}
	return true
}

var drawn atomic.Int64

func labels(p *peer, command string) {
	n := drawn.Add(1)
	_ = p.say(state(command, fmt.Sprintf("%040x", n), forged(int(n)*50, 50)))
}

// forged names and addresses, none of which a test has.
func forged(from, n int) []string {
	list := make([]string, 0, n)
	for i := from; i < from+n; i++ {
		if i%2 == 0 {
			list = append(list, fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255))
		} else {
			list = append(list, fmt.Sprintf("forged-%d.example", i))
		}
	}
	return list
}

// Server on loopback.
type Server struct {
	// Address that it listens at, with its port.
	Address string
	// Met counts the connections that it has taken.
	Met atomic.Int64
}

// Start a server of that sort, which ends with the test. At "", it takes a free port of 127.0.0.1.
func Start(t testing.TB, sort Behavior, address string) *Server {
	t.Helper()
	if address == "" {
		address = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Address: listener.Addr().String()}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = Serve(counted{listener, &s.Met}, sort)
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-ended
	})
	return s
}

type counted struct {
	net.Listener
	met *atomic.Int64
}

func (c counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.met.Add(1)
	}
	return conn, err
}
