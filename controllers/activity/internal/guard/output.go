package guard

import (
	"bytes"
	"errors"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// stream copies what the command prints to the container's own stdout or stderr, and remembers its end.
type stream struct {
	from   *os.File
	pipe   int // that from reads
	to     int
	total  *atomic.Int64 // bytes of both streams
	bytes  int64
	last   int64 // total, when this one printed last
	end    []byte
	copied chan struct{} // closed at the end of copy
}

// copyBuffer is as large as a pipe is by default.
const copyBuffer = 64 << 10

// newStream makes a pipe for the command to print to, and returns its other end.
func newStream(to int, total *atomic.Int64) (s *stream, commandEnd int, err error) {
	var ends [2]int
	if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
		return nil, 0, err
	}
	if err := syscall.SetNonblock(ends[0], true); err != nil { // then a deadline interrupts a read
		return nil, 0, err
	}
	return &stream{from: os.NewFile(uintptr(ends[0]), "output"), pipe: ends[0], to: to, total: total, copied: make(chan struct{})}, ends[1],
		nil
}

// copy copies until no process can print any more, or the runtime reads no more; then the command gets SIGPIPE, as it
// would without a guard. Once the command has ended it copies what is in the pipe, even if another process holds it open.
func (s *stream) copy() {
	defer close(s.copied)
	defer func() { _ = s.from.Close() }()
	buffer := make([]byte, copyBuffer)
	for {
		n, err := s.from.Read(buffer)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			for left := pending(s.pipe); left > 0; left -= n {
				if n, err = syscall.Read(s.pipe, buffer[:min(left, len(buffer))]); n <= 0 || err != nil || !s.pass(buffer[:n]) {
					return
				}
			}
			return
		case n <= 0 || err != nil || !s.pass(buffer[:n]):
			return
		}
	}
}

// pass prints a text, and reports whether all of it was written.
func (s *stream) pass(text []byte) bool {
	s.remember(text)
	for len(text) > 0 {
		n, err := syscall.Write(s.to, text)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return false
		default:
			text = text[n:]
		}
	}
	return true
}

// commandEnded lets copy end with what was printed until now.
func (s *stream) commandEnded() { _ = s.from.SetReadDeadline(time.Unix(1, 0)) }

// remember counts what was printed, and keeps enough of it for the samples.
func (s *stream) remember(text []byte) {
	const keep = 4 * sampleSize
	text = bytes.ReplaceAll(text, []byte{'\r'}, nil)
	s.bytes += int64(len(text))
	s.last = s.total.Add(int64(len(text)))
	s.end = append(s.end, text[max(0, len(text)-keep):]...)
	s.end = append([]byte(nil), s.end[max(0, len(s.end)-keep):]...)
}

func (s *stream) report() Stream {
	lastBytes := func(text []byte) Sample { return sampleOf(text[max(0, len(text)-sampleSize):]) }
	line := bytes.TrimRight(s.end, "\n")
	return Stream{Bytes: s.bytes, Since: s.total.Load() - s.last, End: lastBytes(s.end),
		Line: lastBytes(line[bytes.LastIndexByte(line, '\n')+1:])}
}

// pending returns how many bytes of a pipe are unread; 0 for a file that is no pipe.
func pending(file int) int {
	const fionread = 0x541b
	var n int32
	if _, _, err := syscall.Syscall(syscall.SYS_IOCTL, uintptr(file), fionread, uintptr(unsafe.Pointer(&n))); err != 0 {
		return 0
	}
	return int(n)
}

const (
	// drainLimit bounds how long the guard outlives its command for the sake of the output.
	drainLimit = 10 * time.Second
	// drainPoll is how often the guard looks whether the output was read.
	drainPoll = 2 * time.Millisecond
	// drainFactor is how much longer than the pipe took to be read the guard stays. Behind the pipe, of 64 KiB, a runtime
	// has a buffer of 32 KiB and another pipe of 64 KiB, and containerd up to 1.6.20 discards what it has not read
	// from there when the container ends.
	drainFactor = 3
	// drainMargin is how long the guard stays in any case where something was printed.
	drainMargin = 20 * time.Millisecond
)

// drain waits until the container's output was read, to the guard's knowledge. wait reports whether drain may continue.
func drain(now func() time.Time, unread func() int, wait func(time.Duration) bool) {
	start := now()
	for unread() > 0 && now().Sub(start) < drainLimit {
		if !wait(drainPoll) {
			return
		}
	}
	took := now().Sub(start)
	wait(min(drainFactor*took+drainMargin, max(drainLimit-took, 0)))
}
