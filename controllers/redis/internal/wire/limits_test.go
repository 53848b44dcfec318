package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"
)

// scriptedConn is a connection over which the other side sends what the Reader holds.
type scriptedConn struct {
	net.Conn
	io.Reader
}

func (s scriptedConn) Read(p []byte) (int, error) { return s.Reader.Read(p) }

func TestWireRefusesBeforeTheLibraryReadsSoFar(t *testing.T) {
	for _, c := range []struct {
		reason, reply string
		read          int    // bytes that are let through
		why           string // "" for all
	}{
		{"a status", "+OK\r\n", 5, ""},
		{"an error", "-ERR no\r\n", 9, ""},
		{"a number", ":-9223372036854775808\r\n", 23, ""},
		{"a string", "$3\r\na\nb\r\n", 9, ""},
		{"an empty string, and an empty list", "$0\r\n\r\n*0\r\n", 10, ""},
		{"nothing", "$-1\r\n*-1\r\n", 10, ""},
		{"lists in a list", "*2\r\n*1\r\n+a\r\n*0\r\n+b\r\n", 20, ""},
		{"what was a number in a string is none", "$10\r\n$99999999\r\r\n", 17, ""},
		{"one reply after another: each has its own limits", strings.Repeat("$400000\r\n"+strings.Repeat("x", 400000)+"\r\n", 4), 4 * 400011, ""},
		{"one reply after another: each has its own elements", strings.Repeat("*4096\r\n"+strings.Repeat(":1\r\n", 4096), 3), 3 * (7 + 4*4096),
			""},
		{"a length near 2^63", "$9223372036854775800\r\n", 0, `"9223372036854775800" is no length`},
		{"a length below nothing", "$-2\r\n", 0, `"-2" is no length`},
		{"a length with a sign", "$+3\r\n", 0, `"+3" is no length`},
		{"a long string", "$524288\r\n", 0, "a string of 524288"},
		{"long strings together", "*2\r\n$400000\r\n" + strings.Repeat("x", 400000) + "\r\n$400000\r\n", 0, "more than 524288 bytes"},
		{"a list of a billion", "*1000000000\r\n", 0, "one of 1000000000"},
		{"lists of many together", "*3\r\n*3000\r\n" + strings.Repeat(":1\r\n", 3000) + "*3000\r\n", 0, "more than 4096 elements"},
		{"deep lists", strings.Repeat("*1\r\n", 7), 0, "more than 6 deep"},
		{"a line without end", "+" + strings.Repeat("a", maxLine), 0, "a line of more than 4096 bytes"},
		{"a line that ends otherwise", "+OK\n", 0, "none of RESP2"},
		{"a line with an end within", "+O\rK\r\n", 0, "none of RESP2"},
		{"an empty line", "\r\n", 0, "none of RESP2"},
		{"no number", ":one\r\n", 0, `"one" is no number`},
		{"a push message", ">1\r\n+a\r\n", 0, "none of the types of RESP2"},
		{"a map", "%1\r\n+a\r\n+b\r\n", 0, "none of the types of RESP2"},
		{"an attribute", "|1\r\n+a\r\n+b\r\n+c\r\n", 0, "none of the types of RESP2"},
		{"a set", "~1\r\n+a\r\n", 0, "none of the types of RESP2"},
		{"a verbatim string", "=7\r\ntxt:abc\r\n", 0, "none of the types of RESP2"},
		{"a big number", "(" + strings.Repeat("9", 1000) + "\r\n", 0, "none of the types of RESP2"},
		{"an error of a length", "!3\r\nERR\r\n", 0, "none of the types of RESP2"},
		{"what is no RESP at all", "HTTP/1.1 400 Bad Request\r\n", 0, `"HTTP/1.1 400 Bad Request"`},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := &limitedConn{Conn: scriptedConn{Reader: strings.NewReader(c.reply)}}
			got, err := io.ReadAll(w)
			if c.why == "" && (err != nil || len(got) != c.read) {
				t.Fatalf("%d bytes of %d, then %v", len(got), c.read, err)
			}
			if c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)) {
				t.Fatalf("got %v, want %q", err, c.why)
			}
			// Read byte by byte, the reply fails alike; only what came before the fault may differ.
			one := &limitedConn{Conn: scriptedConn{Reader: iotest.OneByteReader(strings.NewReader(c.reply))}}
			slowly, alsoErr := io.ReadAll(one)
			if (err == nil) != (alsoErr == nil) || err == nil && !bytes.Equal(got, slowly) || unreadableReason(err) != unreadableReason(alsoErr) {
				t.Errorf("byte by byte: %d bytes, %v", len(slowly), alsoErr)
			}
			if n, again := one.Read(make([]byte, 1)); err != nil && (n != 0 || !errors.Is(again, alsoErr)) {
				t.Errorf("it continues after %v: %d, %v", alsoErr, n, again)
			}
		})
	}
}

func TestWordsOfAServerCanBePrinted(t *testing.T) {
	w := &limitedConn{Conn: scriptedConn{Reader: strings.NewReader("-ERR \xff\x1b[31m\x00\r\n$2\r\n\xff\x00\r\n")}}
	got, err := io.ReadAll(w)
	if want := "-ERR ??[31m?\r\n$2\r\n\xff\x00\r\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v", got, err)
	}
}

// The words of a server's refusal reach a condition: a few lines of them.
func TestARefusalIsReported(t *testing.T) {
	ours, theirs := net.Pipe()
	go func() {
		go func() { _, _ = io.Copy(io.Discard, theirs) }()
		_, _ = theirs.Write([]byte("-ERR\r\n+OK\r\n-ERR " + strings.Repeat("no", 1000) + "\r\n"))
	}()
	t.Cleanup(func() { _ = theirs.Close() })
	s := newServer(func(context.Context, *atomic.Bool) (net.Conn, error) { return &limitedConn{Conn: ours}, nil }, password, time.Minute,
		time.Minute)
	defer s.Close()
	if err := s.Fence(t.Context()); err == nil || !strings.Contains(err.Error(), "ERR nono") || len(err.Error()) > 400 {
		t.Errorf("%.500q", err)
	}
}

func TestOnlyAddressesAreDialled(t *testing.T) {
	for _, hostport := range []string{"localhost:6379", ":6379", "10.0.0.1", "[::1%\xff]:x"} {
		if _, err := dialAddress(t.Context(), net.Dialer{}, hostport); err == nil ||
			!strings.Contains(err.Error(), "no address and port to connect to") {
			t.Errorf("%s: %v", hostport, err)
		}
	}
}

func FuzzWire(f *testing.F) {
	f.Fuzz(func(t *testing.T, reply []byte) {
		at, slowly := bytes.Clone(reply), bytes.Clone(reply)
		whole := &limitedConn{Conn: scriptedConn{Reader: bytes.NewReader(at)}}
		got, err := io.ReadAll(whole)
		parts := &limitedConn{Conn: scriptedConn{Reader: iotest.OneByteReader(bytes.NewReader(slowly))}}
		also, alsoErr := io.ReadAll(parts)
		if (err == nil) != (alsoErr == nil) || !bytes.HasPrefix(also, got) || err == nil && !bytes.Equal(got, also) {
			t.Fatalf("by how it comes: %q, %v; %q, %v", got, err, also, alsoErr)
		}
		wellFramed(t, got)
	})
}

// wellFramed checks by a parser of its own that what was let through keeps within the limits.
func wellFramed(t *testing.T, replies []byte) {
	t.Helper()
	for len(replies) > 0 {
		line, rest, whole := bytes.Cut(replies, []byte("\r\n"))
		if !whole {
			if len(replies) > maxLine {
				t.Errorf("a line of %d bytes", len(replies))
			}
			return
		}
		if len(line) > maxLine || len(line) == 0 || !strings.ContainsRune("+-:$*", rune(line[0])) {
			t.Fatalf("a line of %d bytes that starts %q", len(line), line[:min(len(line), 9)])
		}
		replies = rest
		if line[0] != '$' && line[0] != '*' {
			continue
		}
		n, err := strconv.Atoi(string(line[1:]))
		if err != nil || n < -1 || n > maxReply || line[0] == '*' && n > maxElements {
			t.Fatalf("%q", line)
		}
		if line[0] == '$' && n >= 0 {
			replies = replies[min(n+2, len(replies)):]
		}
	}
}
