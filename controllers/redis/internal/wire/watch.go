package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/panics"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/untrusted"
)

const (
	// Probe is a user without password that may do nothing but PING and ROLE.
	Probe = "_probe"

	// redialInterval is the time between attempts to connect while no server answers.
	redialInterval = 100 * time.Millisecond
	// unreadableRetry is how long a server is left alone after a reply that cannot be read.
	unreadableRetry = 5 * time.Second
)

// WatchHandler gets what a watch hears from one server.
type WatchHandler struct {
	// TLSConfig returns the config for TLS. It is asked for at each connection; nil is
	// in the clear.
	TLSConfig func() *tls.Config
	// OnReply is called when the server has answered. behind is how many bytes each of a
	// master's replicas is behind, by address; for a replica it is nil.
	OnReply func(behind map[string]int64)
	// OnChange is called when the server appeared, disappeared, fell silent, changed its role or the set of
	// its replicas, or started or ceased to refuse writes; and several times while a replica acknowledges
	// none of them. It does not say which: the handler has to look for itself.
	OnChange func()
}

// Watch keeps a connection to a server until ctx ends and asks it for its role
// every interval. The end of the connection is seen at once, silence after half
// an interval.
func Watch(ctx context.Context, address string, interval time.Duration, handler WatchHandler) {
	watch(ctx, net.JoinHostPort(address, strconv.Itoa(Port)), interval, handler)
}

func watch(ctx context.Context, hostport string, interval time.Duration, handler WatchHandler) {
	redial := time.NewTicker(redialInterval)
	defer redial.Stop()
	for logged := ""; ctx.Err() == nil; {
		met, why := watchOnce(ctx, hostport, interval, handler)
		if met && ctx.Err() == nil {
			handler.OnChange()
		}
		if why != "" && why != logged {
			logged = why
			log.FromContext(ctx).Info("a server's reply cannot be parsed", "address", hostport, "why", why, "nextTryIn", unreadableRetry)
		}
		pause := redial.C
		if why != "" {
			pause = time.After(unreadableRetry)
		}
		select {
		case <-ctx.Done():
		case <-pause:
		}
	}
}

// watchOnce watches a server for the time of one connection. met reports whether there was one; why
// says what is wrong if a reply cannot be read or the watch panicked: the server is then left alone for a while.
func watchOnce(ctx context.Context, hostport string, interval time.Duration, handler WatchHandler) (met bool, why string) {
	err := panics.Recover(ctx, "watching a Redis server", func() (err error) {
		met, err = watchConnection(ctx, hostport, interval, handler)
		return err
	})
	if errors.Is(err, panics.ErrRecovered) {
		return true, err.Error()
	}
	return met, unreadableReason(err)
}

// watchConnection watches the server's role until the connection ends, and returns what ended it. met
// reports whether there was a server.
func watchConnection(ctx context.Context, hostport string, interval time.Duration, handler WatchHandler) (met bool, err error) {
	bare, err := dialAddress(ctx, net.Dialer{Timeout: interval}, hostport)
	if err != nil {
		return false, err
	}
	defer func() { _ = bare.Close() }()
	defer context.AfterFunc(ctx, func() { _ = bare.Close() })()
	conn, err := handler.handshake(ctx, bare, interval)
	if err != nil {
		return false, err
	}
	conn = &limitedConn{Conn: conn}
	server := connection{conn, bufio.NewReader(conn), interval / 2}
	if _, err := server.ask("AUTH " + Probe + " -"); err != nil {
		return false, err
	}
	return true, server.pollRole(interval, handler)
}

// pollRole asks the server for its role every interval, and calls OnChange when the answer changes.
func (c connection) pollRole(interval time.Duration, handler WatchHandler) error {
	acknowledged := newAcknowledgements(interval)
	for last := ""; ; {
		state, err := c.queryState(acknowledged, handler)
		if err != nil {
			return err
		}
		if state != last {
			last = state
			handler.OnChange()
		}
		_ = c.conn.SetReadDeadline(clock.RealClock{}.Now().Add(interval))
		switch _, err := c.replies.Peek(1); {
		case err == nil:
			return unreadableError{"it speaks unasked"}
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return err // it ended
		}
	}
}

// queryState asks the server for its role, and whether it would refuse a write. A server that is busy with a script answers
// neither, and is not left for that: its connection shows when the script ends.
func (c connection) queryState(acknowledged *acknowledgements, handler WatchHandler) (string, error) {
	var refused replyError
	words, err := c.ask("ROLE")
	switch {
	case errors.As(err, &refused) && refused.code() == Busy:
		return Busy, nil
	case err != nil:
		return "", err
	}
	if err := checkRole(words); err != nil {
		return "", err
	}
	handler.OnReply(replicaLag(words))
	state := describeRole(words) + acknowledged.update(words)
	if _, err := c.ask("PING"); errors.As(err, &refused) { // as it would a write
		return state + ", " + refused.code(), nil
	} else if err != nil {
		return "", err
	}
	return state, nil
}

// handshake speaks TLS over the connection, if the servers do.
func (w WatchHandler) handshake(ctx context.Context, conn net.Conn, limit time.Duration) (net.Conn, error) {
	if w.TLSConfig == nil {
		return conn, nil
	}
	ctx, done := context.WithTimeout(ctx, limit)
	defer done()
	return wrapTLS(ctx, conn, w.TLSConfig())
}

// replyError is a server's error reply, in its words.
type replyError string

func (r replyError) Error() string { return "refused: " + string(r) }

// code returns the word that the error starts with, such as LOADING: what follows may differ each time.
func (r replyError) code() string {
	first, _, _ := strings.Cut(string(r), " ")
	return first
}

// connection is a connection to a server, without the client library: of a watch, or of a pin.
type connection struct {
	conn    net.Conn
	replies *bufio.Reader
	timeout time.Duration
}

// ask sends one inline command and reads its answer as flat words.
func (c connection) ask(command string) ([]string, error) {
	if err := c.conn.SetDeadline(clock.RealClock{}.Now().Add(c.timeout)); err != nil {
		return nil, err
	}
	if _, err := c.conn.Write([]byte(command + "\r\n")); err != nil {
		return nil, err
	}
	return readReply(c.replies)
}

// readReply reads one value of RESP2 as flat words. It comes over a limitedConn, which has checked
// that it is one, and how long and how deep it is.
func readReply(replies *bufio.Reader) ([]string, error) {
	line, err := replies.ReadString('\n')
	if err != nil {
		return nil, err
	}
	switch prefix, rest := line[0], strings.TrimRight(line[1:], "\r\n"); prefix {
	case '-':
		return nil, replyError(untrusted.Sanitize(rest))
	case '$':
		text := make([]byte, max(0, parseNumber(rest)+2))
		_, err := io.ReadFull(replies, text)
		return []string{string(text[:max(0, len(text)-2)])}, err
	case '*':
		var words []string
		for range parseNumber(rest) {
			inner, err := readReply(replies)
			if err != nil {
				return nil, err
			}
			words = append(words, inner...)
		}
		return words, nil
	default:
		return []string{rest}, nil
	}
}
