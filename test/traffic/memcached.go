package traffic

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// Memcached is a connection to one cache node. A Service in front of several
// nodes picks one per connection.
type Memcached struct {
	conn   net.Conn
	reader *bufio.Reader
}

// DialMemcached connects within the context's deadline, which also bounds
// everything that is said over the connection.
func DialMemcached(ctx context.Context, network Network, to Service) (*Memcached, error) {
	conn, err := network.Dial(ctx, to)
	if err != nil {
		return nil, err
	}
	if deadline, bounded := ctx.Deadline(); bounded {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, err
		}
	}
	return &Memcached{conn: conn, reader: bufio.NewReader(conn)}, nil
}

// Close hangs up.
func (m *Memcached) Close() error { return m.conn.Close() }

// Login is what a node with users wants to hear first.
func (m *Memcached) Login(user, password string) error {
	token := user + " " + password
	answer, err := m.ask("set auth 0 0 %d\r\n%s\r\n", len(token), token)
	if err == nil && answer != "STORED" {
		err = fmt.Errorf("memcached refuses to let %s in: %s", user, answer)
	}
	return err
}

// Set stores a value without an expiry.
func (m *Memcached) Set(key, value string) error {
	answer, err := m.ask("set %s 0 0 %d\r\n%s\r\n", key, len(value), value)
	if err == nil && answer != "STORED" {
		err = fmt.Errorf("memcached refuses to set %s: %s", key, answer)
	}
	return err
}

// Get reads a value and reports whether there is one.
func (m *Memcached) Get(key string) (value string, found bool, err error) {
	answer, err := m.ask("get %s\r\n", key)
	if err != nil || answer == "END" {
		return "", false, err
	}
	fields := strings.Fields(answer) // VALUE <key> <flags> <bytes>
	if len(fields) < 4 || fields[0] != "VALUE" {
		return "", false, fmt.Errorf("memcached answers to get %s: %s", key, answer)
	}
	size, err := strconv.Atoi(fields[3])
	if err != nil {
		return "", false, fmt.Errorf("memcached answers to get %s: %s", key, answer)
	}
	content := make([]byte, size)
	if _, err := io.ReadFull(m.reader, content); err != nil {
		return "", false, err
	}
	for range 2 { // the end of the value's line, and END
		if _, err := m.line(); err != nil {
			return "", false, err
		}
	}
	return string(content), true, nil
}

// Settings are the node's own words for how it runs.
func (m *Memcached) Settings() (map[string]string, error) { return m.stats("stats settings") }

// Stats are the node's own words for what it holds and has done.
func (m *Memcached) Stats() (map[string]string, error) { return m.stats("stats") }

func (m *Memcached) stats(command string) (map[string]string, error) {
	answer, err := m.ask("%s\r\n", command)
	settings := map[string]string{}
	for ; err == nil && answer != "END"; answer, err = m.line() {
		fields := strings.SplitN(answer, " ", 3) // STAT <name> <value>
		if len(fields) < 3 || fields[0] != "STAT" {
			return nil, fmt.Errorf("memcached answers to %s: %s", command, answer)
		}
		settings[fields[1]] = fields[2]
	}
	return settings, err
}

func (m *Memcached) ask(format string, args ...any) (string, error) {
	if _, err := fmt.Fprintf(m.conn, format, args...); err != nil {
		return "", err
	}
	return m.line()
}

func (m *Memcached) line() (string, error) {
	line, err := m.reader.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err
}
