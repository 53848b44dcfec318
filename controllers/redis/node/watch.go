package node

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/clock"
)

const (
	// Probe is a user without password that may do nothing but PING and ROLE.
	Probe = "_probe"

	// redialInterval while nobody answers.
	redialInterval = 100 * time.Millisecond
	// roleDepth of the answer to ROLE: a master lists its replicas, each a list.
	roleDepth = 3
)

// Ear is told what a watch hears of one server.
type Ear struct {
	// Secure gives the config to speak TLS by, asked for at each connection; nil is
	// in the clear.
	Secure func() *tls.Config
	// Heard : the server has answered. A master tells by address how many bytes each
	// of its replicas is behind; of a replica it is nil.
	Heard func(behind map[string]int64)
	// Changed : it appeared, disappeared, fell silent, changed its role or the set of
	// its replicas, began or ceased to refuse writes; or a replica acknowledges none of them, which
	// is told some times. Whoever acts on it looks for himself.
	Changed func()
}

// Watch keeps a connection to a server until ctx ends and asks it for its role
// every interval. The end of the connection is seen at once, silence after half
// an interval.
func Watch(ctx context.Context, address string, interval time.Duration, ear Ear) {
	watch(ctx, net.JoinHostPort(address, strconv.Itoa(Port)), interval, ear)
}

func watch(ctx context.Context, hostport string, interval time.Duration, ear Ear) {
	redial := time.NewTicker(redialInterval)
	defer redial.Stop()
	for ctx.Err() == nil {
		if listen(ctx, hostport, interval, ear) && ctx.Err() == nil {
			ear.Changed()
		}
		select {
		case <-ctx.Done():
		case <-redial.C:
		}
	}
}

// listen follows the server's role until the connection ends. It is true when
// there was a server.
func listen(ctx context.Context, hostport string, interval time.Duration, ear Ear) bool {
	dialer := net.Dialer{Timeout: interval}
	bare, err := dialer.DialContext(ctx, "tcp", hostport)
	if err != nil {
		return false
	}
	defer func() { _ = bare.Close() }()
	defer context.AfterFunc(ctx, func() { _ = bare.Close() })()
	conn, err := ear.speak(ctx, bare, interval)
	if err != nil {
		return false
	}

	server := watched{conn, bufio.NewReader(conn), interval / 2}
	if _, err := server.ask("AUTH " + Probe + " -"); err != nil {
		return false
	}
	acknowledged := acknowledgements{}
	for last := ""; ; {
		words, err := server.ask("ROLE")
		if err != nil {
			return true
		}
		ear.Heard(behind(words))
		state := roleOf(words) + acknowledged.take(words)
		var refused refusal
		if _, err := server.ask("PING"); errors.As(err, &refused) { // as it would a write
			state += ", " + refused.word()
		} else if err != nil {
			return true
		}
		if state != last {
			last = state
			ear.Changed()
		}
		_ = conn.SetReadDeadline(clock.RealClock{}.Now().Add(interval))
		if _, err := server.replies.Peek(1); !errors.Is(err, os.ErrDeadlineExceeded) {
			return true // it ended, or speaks unasked
		}
	}
}

// speak over the connection as the servers do.
func (e Ear) speak(ctx context.Context, conn net.Conn, patience time.Duration) (net.Conn, error) {
	if e.Secure == nil {
		return conn, nil
	}
	ctx, done := context.WithTimeout(ctx, patience)
	defer done()
	return secured(ctx, conn, e.Secure())
}

// refusal of a command, as the server words it.
type refusal string

func (r refusal) Error() string { return "refused: " + string(r) }

// word that it begins with, such as LOADING: what follows may differ each time.
func (r refusal) word() string {
	first, _, _ := strings.Cut(string(r), " ")
	return first
}

// watched is a server at the other end of a watch's connection.
type watched struct {
	conn     net.Conn
	replies  *bufio.Reader
	patience time.Duration
}

// ask sends one inline command and reads its answer as flat words.
func (w watched) ask(command string) ([]string, error) {
	if err := w.conn.SetDeadline(clock.RealClock{}.Now().Add(w.patience)); err != nil {
		return nil, err
	}
	if _, err := w.conn.Write([]byte(command + "\r\n")); err != nil {
		return nil, err
	}
	return read(w.replies, roleDepth)
}

// read takes one RESP2 value, https://redis.io/docs/latest/develop/reference/protocol-spec/.
// Whoever answers may be no Redis at all: nothing is deeper than was asked for.
func read(replies *bufio.Reader, depth int) ([]string, error) {
	line, err := replies.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return nil, errors.New("empty answer")
	}
	switch kind, rest := line[0], line[1:]; kind {
	case '+', ':':
		return []string{rest}, nil
	case '$': // ROLE's strings hold no line breaks
		text, err := replies.ReadString('\n')
		return []string{strings.TrimRight(text, "\r\n")}, err
	case '*':
		if depth == 0 {
			return nil, errors.New("the answer is too deep")
		}
		var words []string
		for range number(rest) {
			inner, err := read(replies, depth-1)
			if err != nil {
				return nil, err
			}
			words = append(words, inner...)
		}
		return words, nil
	case '-':
		return nil, refusal(rest)
	default:
		return nil, fmt.Errorf("no answer that a server gives: %q", line)
	}
}

// roleOf leaves out what moves by itself: offsets, and the attempts of a fenced
// server to reach its master.
func roleOf(words []string) string {
	switch {
	case len(words) == 0:
		return ""
	case words[0] == "master":
		return "master of " + strings.Join(slices.Sorted(maps.Keys(behind(words))), " ")
	case len(words) < 4 || words[0] != "slave":
		return words[0]
	}
	host, state := words[1], words[3]
	if host == FenceHost {
		return "fenced"
	}
	return host + " " + strconv.FormatBool(state == "connected")
}

// behind reads a master's answer: "master", its offset, then the address, port and
// offset of each replica. Whoever joins it unasked is to be noticed.
func behind(words []string) map[string]int64 {
	if len(words) < 2 || words[0] != "master" {
		return nil
	}
	bytes := map[string]int64{}
	for i := 2; i+2 < len(words); i += 3 {
		bytes[words[i]] = max(0, number(words[1])-number(words[i+2]))
	}
	return bytes
}
