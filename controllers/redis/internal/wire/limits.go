package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/untrusted"
)

// Limits of one reply. Any program may answer, and the client library allocates whatever
// length a reply announces: a reply beyond these is refused before the library reads so far.
const (
	// maxReply is in bytes. The longest reply that is asked for is INFO: about 8 KiB, and 60 bytes more
	// for each database that holds keys.
	maxReply = 512 << 10
	// maxLine is in bytes, of a status, an error or a number. Redis repeats in an error at most the
	// directive and the value that it was sent, which the schema bounds.
	maxLine = 4 << 10
	// maxElements bounds the elements of all lists of one reply. HELLO lists the modules and what each
	// was started with; ROLE takes three for each replica, and one more.
	maxElements = 4096
	// maxDepth bounds lists in lists. HELLO has four: the modules, each with a list of its arguments.
	maxDepth = 6
	// maxDigits bounds the length of an integer, with its sign: 64 bits.
	maxDigits = 20
)

// unreadableError says why a reply is not read: no server of ours gives such a one.
type unreadableError struct{ why string }

func (u unreadableError) Error() string { return "the reply cannot be read: " + u.why }

func unreadablef(format string, args ...any) error {
	return unreadableError{fmt.Sprintf(format, args...)}
}

// dialAddress connects to an address, never to a name: the API server and the record have addresses, and
// a name could lead anywhere.
func dialAddress(ctx context.Context, dialer net.Dialer, hostport string) (net.Conn, error) {
	if _, err := netip.ParseAddrPort(hostport); err != nil {
		return nil, fmt.Errorf("%s is no address and port to connect to", untrusted.Quote(hostport))
	}
	return dialer.DialContext(ctx, "tcp", hostport)
}

// limitedConn is a connection whose replies keep within the limits. What is not printable ASCII in a
// status or an error is replaced by "?", because people come to read its words.
type limitedConn struct {
	net.Conn
	replies replyFraming
	failure error
}

func (l *limitedConn) Read(p []byte) (int, error) {
	if l.failure != nil {
		return 0, l.failure
	}
	n, err := l.Conn.Read(p)
	if l.failure = l.replies.consume(p[:n]); l.failure != nil {
		return 0, l.failure
	}
	return n, err
}

// replyFraming follows RESP2, https://redis.io/docs/latest/develop/reference/protocol-spec/, through a
// stream of replies: lines that end in CR LF, and strings of an announced length. It is stricter than
// the client library, and sees each line and each string start where the library does. Nothing of
// RESP3 is let through: no server speaks it to a client that has not asked for it, and the library calls
// itself once for each attribute, until the stack is full.
type replyFraming struct {
	line         []byte // the line that has started
	textLeft     int    // bytes left of a string, and of the line break after it
	elementsLeft []int  // elements left of each list that has started, outermost first
	// bytes and elements count those of the reply so far.
	bytes, elements int
}

// consume takes in what comes next. After an error, nothing more can be read.
func (r *replyFraming) consume(p []byte) error {
	for len(p) > 0 {
		if r.textLeft > 0 {
			n := min(r.textLeft, len(p))
			r.textLeft, p = r.textLeft-n, p[n:]
			if r.textLeft == 0 {
				r.endValue()
			}
			continue
		}
		part, ends := p, false
		if i := bytes.IndexByte(p, '\n'); i >= 0 {
			part, ends = p[:i+1], true
		}
		p = p[len(part):]
		if err := r.appendLine(part); err != nil {
			return err
		}
		if ends {
			if err := r.parseHeader(); err != nil {
				return err
			}
		}
	}
	return nil
}

// appendLine takes in a part of a line, and makes it printable in place, since messages may repeat it.
func (r *replyFraming) appendLine(part []byte) error {
	for i, b := range part {
		if (b < ' ' || b > '~') && b != '\r' && b != '\n' {
			part[i] = '?'
		}
	}
	r.line = append(r.line, part[:min(len(part), maxLine+1)]...)
	if len(r.line) > maxLine {
		return unreadablef("it has a line of more than %d bytes: %s", maxLine, untrusted.Quote(string(r.line)))
	}
	if r.bytes += len(part); r.bytes > maxReply {
		return unreadablef("it has more than %d bytes", maxReply)
	}
	return nil
}

// parseHeader reads a whole line: a value, or the length of a string or a list.
func (r *replyFraming) parseHeader() error {
	line, ended := bytes.CutSuffix(r.line, []byte("\r\n"))
	if !ended || len(line) == 0 || bytes.ContainsRune(line, '\r') {
		return unreadablef("it has a line that is none of RESP2: %s", untrusted.Quote(string(r.line)))
	}
	r.line = r.line[:0]
	prefix, rest := line[0], string(line[1:])
	switch prefix {
	case '+', '-':
		r.endValue()
		return nil
	case ':':
		if _, err := strconv.ParseInt(rest, 10, 64); err != nil || len(rest) > maxDigits {
			return unreadablef("%s is no number", untrusted.Quote(rest))
		}
		r.endValue()
		return nil
	case '$', '*':
	default:
		return unreadablef("it starts with none of the types of RESP2: %s", untrusted.Quote(string(line)))
	}
	n, err := parseLength(rest)
	switch {
	case err != nil:
		return err
	case n <= 0 && prefix == '*', n < 0: // an empty list, or nil
		r.endValue()
		return nil
	case prefix == '$':
		if r.bytes += n + 2; r.bytes > maxReply {
			return unreadablef("it has more than %d bytes: a string of %d", maxReply, n)
		}
		r.textLeft = n + 2
		return nil
	}
	return r.startList(n)
}

// parseLength reads the length of a string or a list: digits, or -1 for nil.
func parseLength(text string) (int, error) {
	if text == "-1" {
		return -1, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, unreadablef("%s is no length that a reply may have", untrusted.Quote(text))
	}
	return int(n), nil
}

func (r *replyFraming) startList(n int) error {
	if r.elements += n; r.elements > maxElements {
		return unreadablef("its lists have more than %d elements: one of %d", maxElements, n)
	}
	if len(r.elementsLeft) == maxDepth {
		return unreadablef("its lists are more than %d deep", maxDepth)
	}
	r.elementsLeft = append(r.elementsLeft, n)
	return nil
}

// endValue notes the end of a value, and of the lists and the reply whose last value it is.
func (r *replyFraming) endValue() {
	for i := len(r.elementsLeft) - 1; i >= 0; i-- {
		if r.elementsLeft[i]--; r.elementsLeft[i] > 0 {
			return
		}
		r.elementsLeft = r.elementsLeft[:i]
	}
	r.bytes, r.elements = 0, 0
}

// unreadableReason returns why a reply cannot be read; "" for any other error.
func unreadableReason(err error) string {
	var u unreadableError
	if errors.As(err, &u) {
		return u.why
	}
	return ""
}
