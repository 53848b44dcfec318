package node

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/clock"
)

const (
	// Probe is a user without password that may do nothing but PING and ROLE.
	Probe = "_probe"

	// watchInterval between two questions to a server that answers.
	watchInterval = time.Second
	// watchPatience with a server that has stopped answering. The end of the
	// connection needs none: it is seen at once.
	watchPatience = 3 * time.Second
	// redialInterval while nobody answers.
	redialInterval = 100 * time.Millisecond
	// roleDepth of the answer to ROLE: a master lists its replicas, each a list.
	roleDepth = 3
)

// Watch keeps a connection to a server until ctx ends, and calls changed when
// the server appears, disappears, falls silent or changes its role. It says
// that something happened, never what: who acts on it looks for himself.
func Watch(ctx context.Context, address string, changed func()) {
	watch(ctx, net.JoinHostPort(address, strconv.Itoa(Port)), changed)
}

func watch(ctx context.Context, hostport string, changed func()) {
	redial := time.NewTicker(redialInterval)
	defer redial.Stop()
	for ctx.Err() == nil {
		if listen(ctx, hostport, changed) && ctx.Err() == nil {
			changed()
		}
		select {
		case <-ctx.Done():
		case <-redial.C:
		}
	}
}

// listen follows the server's role until the connection ends. It is true when
// there was a server.
func listen(ctx context.Context, hostport string, changed func()) bool {
	dialer := net.Dialer{Timeout: watchInterval}
	conn, err := dialer.DialContext(ctx, "tcp", hostport)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()

	replies := bufio.NewReader(conn)
	if _, err := ask(conn, replies, "AUTH "+Probe+" -"); err != nil {
		return false
	}
	for last := ""; ; {
		words, err := ask(conn, replies, "ROLE")
		if err != nil {
			return true
		}
		if role := roleOf(words); role != last {
			last = role
			changed()
		}
		_ = conn.SetReadDeadline(clock.RealClock{}.Now().Add(watchInterval))
		if _, err := replies.Peek(1); !errors.Is(err, os.ErrDeadlineExceeded) {
			return true // it ended, or speaks unasked
		}
	}
}

// ask sends one inline command and reads its answer as flat words.
func ask(conn net.Conn, replies *bufio.Reader, command string) ([]string, error) {
	if err := conn.SetDeadline(clock.RealClock{}.Now().Add(watchPatience)); err != nil {
		return nil, err
	}
	if _, err := conn.Write([]byte(command + "\r\n")); err != nil {
		return nil, err
	}
	return read(replies, roleDepth)
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
	default:
		return nil, fmt.Errorf("refused: %s", line)
	}
}

// roleOf leaves out what moves by itself: offsets, and the attempts of a fenced
// server to reach its master.
func roleOf(words []string) string {
	switch {
	case len(words) == 0:
		return ""
	case len(words) < 4 || words[0] != "slave":
		return words[0]
	}
	host, state := words[1], words[3]
	if host == FenceHost {
		return "fenced"
	}
	return host + " " + strconv.FormatBool(state == "connected")
}
