package source

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/untrusted"
)

const (
	// markSize is the size of the mark that a dump of unknown length ends with (CONFIG_RUN_ID_SIZE in Redis' server.h).
	markSize = 40
	// maxKeepalives bounds the empty lines before a dump: a server sends one each second, here for a day.
	maxKeepalives = 24 * 60 * 60
)

// startSync asks for a dump, and nothing else: it is never acknowledged, so the connection counts for no replica. It returns where
// in the server's history the dump starts.
func (r *redisConn) startSync() (replicationID string, offset int64, err error) {
	for _, words := range [][]string{
		{"REPLCONF", "rdb-only", "1"},
		{"REPLCONF", "capa", "eof", "capa", "psync2"},
	} {
		if err := r.do(words...); err != nil {
			return "", 0, err
		}
	}
	if err := r.send("PSYNC", "?", "-1"); err != nil {
		return "", 0, err
	}
	line, err := r.lineAfterKeepalives()
	if err != nil {
		return "", 0, err
	}
	words := strings.Fields(line)
	if len(words) != 3 || words[0] != "+FULLRESYNC" || !replicationIDPattern.MatchString(words[1]) {
		return "", 0, unexpected(line, "+FULLRESYNC")
	}
	if offset, err = strconv.ParseInt(words[2], 10, 64); err != nil || offset < 0 {
		return "", 0, unexpected(line, "an offset")
	}
	return words[1], offset, nil
}

// lineAfterKeepalives skips the empty lines by which a server says that it is still preparing the dump.
func (r *redisConn) lineAfterKeepalives() (string, error) {
	for range maxKeepalives {
		if line, err := r.line(); err != nil || line != "" {
			return line, err
		}
	}
	return "", errors.New("the server has been preparing the dump for a day")
}

// payload returns the dump: of a length that the server says first, or up to a mark that it says first.
func (r *redisConn) payload() (io.Reader, error) {
	line, err := r.lineAfterKeepalives()
	if err != nil {
		return nil, err
	}
	length, isDump := strings.CutPrefix(line, "$")
	if !isDump {
		return nil, unexpected(line, "the length of the dump")
	}
	if mark, ok := strings.CutPrefix(length, "EOF:"); ok {
		if len(mark) != markSize {
			return nil, fmt.Errorf("the mark %s does not have %d bytes", untrusted.Quote(mark), markSize)
		}
		return &markedReader{from: r.reader, mark: []byte(mark)}, nil
	}
	size, err := strconv.ParseInt(length, 10, 64)
	if err != nil || size <= 0 {
		return nil, fmt.Errorf("%s is not the length of a dump", untrusted.Quote(length))
	}
	return &sizedReader{from: r.reader, left: size}, nil
}

// sizedReader reads that many bytes. If there are fewer, the dump was broken off.
type sizedReader struct {
	from io.Reader
	left int64
}

func (s *sizedReader) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n, err := s.from.Read(p[:min(int64(len(p)), s.left)])
	if s.left -= int64(n); n == 0 && err != nil {
		return 0, brokenOff(err)
	}
	return n, nil // an error comes again
}

// markedReader reads up to the mark, which is random: no dump has it within. Without it the dump was broken off.
type markedReader struct {
	from  *bufio.Reader
	mark  []byte
	ended bool
}

func (m *markedReader) Read(p []byte) (int, error) {
	if m.ended || len(p) == 0 {
		return 0, m.end()
	}
	if _, err := m.from.Peek(markSize); err != nil {
		return 0, brokenOff(err)
	}
	there, _ := m.from.Peek(m.from.Buffered()) // never more than there is
	dump := bytes.Index(there, m.mark)
	if dump == 0 {
		m.ended = true
		return 0, io.EOF
	}
	if dump < 0 {
		dump = len(there) - markSize + 1 // the rest may be the mark's start
	}
	return m.from.Read(p[:min(len(p), dump)])
}

func (m *markedReader) end() error {
	if m.ended {
		return io.EOF
	}
	return nil
}

// brokenOff is the error of a dump that did not come to its end.
func brokenOff(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the server has broken off the dump")
	}
	return fmt.Errorf("the dump was broken off: %w", err)
}
