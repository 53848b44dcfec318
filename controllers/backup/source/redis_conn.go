package source

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/untrusted"
)

const (
	// maxLine bounds a line of a reply, in bytes; +FULLRESYNC has some 70.
	maxLine = 1 << 10
	// maxInfo bounds the reply to INFO, in bytes, which has some 7 KB.
	maxInfo = 256 << 10
	// readBuffer is how much is read at once, in bytes.
	readBuffer = 64 << 10
)

// redisConn is one connection to one server, by Redis' protocol (RESP2).
type redisConn struct {
	net.Conn
	reader  *bufio.Reader
	timeout time.Duration // between two bytes
	release func() bool   // of the context
}

// dialRedis connects to a server and logs in. The connection ends with the context.
func dialRedis(ctx context.Context, endpoint string, as login) (*redisConn, error) {
	dialing, done := context.WithTimeout(ctx, dialTimeout)
	defer done()
	connection, err := (&net.Dialer{}).DialContext(dialing, "tcp", endpoint)
	if err != nil {
		return nil, err
	}
	if as.secure != nil {
		if connection, err = startTLS(dialing, connection, endpoint, as.secure); err != nil {
			return nil, err
		}
	}
	c := &redisConn{Conn: connection, timeout: replyTimeout}
	c.release = context.AfterFunc(ctx, func() { _ = connection.Close() })
	c.reader = bufio.NewReaderSize(timed{c}, readBuffer)
	if err := c.do("AUTH", as.user, as.password); err != nil {
		c.close()
		return nil, fmt.Errorf("logging in: %w", err)
	}
	return c, nil
}

func startTLS(ctx context.Context, plain net.Conn, endpoint string, config *tls.Config) (net.Conn, error) {
	config = config.Clone()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(endpoint) // it was dialled, so it is one
	}
	connection := tls.Client(plain, config)
	if err := connection.HandshakeContext(ctx); err != nil {
		_ = plain.Close()
		// The words repeat what the server's certificate says.
		reason := fmt.Errorf("speaking TLS: %s", untrusted.Sanitize(err.Error()))
		if isUntrusted(err) {
			return nil, backup.Permanent(reason)
		}
		return nil, reason
	}
	return connection, nil
}

func (r *redisConn) close() {
	r.release()
	_ = r.Close()
}

// timed is what arrives, which ends if nothing arrives for too long.
type timed struct{ *redisConn }

func (t timed) Read(p []byte) (int, error) {
	if err := t.SetReadDeadline(clock.RealClock{}.Now().Add(t.timeout)); err != nil {
		return 0, err
	}
	n, err := t.Conn.Read(p)
	var failed *net.OpError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("nothing has arrived for %s", t.timeout)
	case errors.As(err, &failed):
		err = failed.Err // without the ports, which differ each time
	}
	return n, err
}

// send sends a command.
func (r *redisConn) send(words ...string) error {
	var text strings.Builder
	fmt.Fprintf(&text, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&text, "$%d\r\n%s\r\n", len(word), word)
	}
	if err := r.SetWriteDeadline(clock.RealClock{}.Now().Add(replyTimeout)); err != nil {
		return err
	}
	_, err := io.WriteString(r.Conn, text.String())
	return err
}

// do sends a command that is answered by a status. A refusal is an error.
func (r *redisConn) do(words ...string) error {
	if err := r.send(words...); err != nil {
		return err
	}
	line, err := r.line()
	if err != nil || strings.HasPrefix(line, "+") {
		return err
	}
	return unexpected(line, "a status")
}

// unexpected returns the error that a line says, or that it is another than was expected.
func unexpected(line, expected string) error {
	refusal, ok := strings.CutPrefix(line, "-")
	switch {
	case !ok:
		return fmt.Errorf("the server replied %s, not %s", untrusted.Quote(line), expected)
	case strings.HasPrefix(refusal, "WRONGPASS"), strings.HasPrefix(refusal, "NOAUTH"):
		return backup.Permanent(errors.New(untrusted.Sanitize(refusal)))
	}
	return errors.New(untrusted.Sanitize(refusal))
}

// line reads a line and returns it without its end.
func (r *redisConn) line() (string, error) {
	var line []byte
	for {
		b, err := r.reader.ReadByte()
		switch {
		case err != nil:
			return "", fmt.Errorf("reading a reply: %w", err)
		case b == '\n':
			return strings.TrimSuffix(string(line), "\r"), nil
		case len(line) == maxLine:
			return "", fmt.Errorf("the server sent a line of more than %d bytes: %s", maxLine, untrusted.Quote(string(line)))
		}
		line = append(line, b)
	}
}

// info asks for what the server reports of itself, by names.
func (r *redisConn) info() (map[string]string, error) {
	if err := r.send("INFO"); err != nil {
		return nil, err
	}
	line, err := r.line()
	if err != nil {
		return nil, err
	}
	digits, ok := strings.CutPrefix(line, "$")
	if !ok {
		return nil, fmt.Errorf("asking for INFO: %w", unexpected(line, "a text"))
	}
	size, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || size > maxInfo {
		return nil, fmt.Errorf("the reply to INFO has the length %s, which is more than %d bytes or not a number", untrusted.Quote(digits),
			maxInfo)
	}
	text := make([]byte, size+2)
	if _, err := io.ReadFull(r.reader, text); err != nil {
		return nil, fmt.Errorf("reading the reply to INFO: %w", err)
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields, nil
}
