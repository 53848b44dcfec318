package rdb

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// reader reads the parts that a dump consists of. The first error stays, and nothing is read after it.
type reader struct {
	buffer   *bufio.Reader
	isValkey bool
	err      error
	// unreadable: the error is that of the stream, and nothing more can be had from it.
	unreadable bool
}

// failFormat notes an error in what the dump says.
func (r *reader) failFormat(err error) {
	if r.err == nil {
		r.err = err
	}
}

// failStream notes an error of the stream, which may just be over.
func (r *reader) failStream(err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errTruncated
	}
	r.unreadable = true
	r.failFormat(err)
}

func (r *reader) byte() byte {
	if r.err != nil {
		return 0
	}
	b, err := r.buffer.ReadByte()
	if err != nil {
		r.failStream(err)
	}
	return b
}

// skip skips n bytes.
func (r *reader) skip(n uint64) {
	for n > 0 && r.err == nil {
		part := min(n, math.MaxInt32)
		if _, err := r.buffer.Discard(int(part)); err != nil { //nolint:gosec // of 31 bits
			r.failStream(err)
		}
		n -= part
	}
}

// number reads a number of four or eight bytes, the highest first.
func (r *reader) number(size int) uint64 {
	if r.err != nil {
		return 0
	}
	at, err := r.buffer.Peek(size)
	if err != nil {
		r.failStream(err)
		return 0
	}
	var n uint64
	if size == 4 {
		n = uint64(binary.BigEndian.Uint32(at))
	} else {
		n = binary.BigEndian.Uint64(at)
	}
	r.skip(uint64(size)) //nolint:gosec // one of the above
	return n
}

// The first two bits of a length say how many bytes it has itself (RDB_*LEN in rdb.h).
const (
	length6Bits  = 0
	length14Bits = 1
	length32Bits = 0x80
	length64Bits = 0x81
	encodedBits  = 3
)

// lengthOrEncoding reads a length, or how the string that follows is encoded.
func (r *reader) lengthOrEncoding() (n uint64, encoded bool) {
	first := r.byte()
	switch {
	case first>>6 == length6Bits:
		return uint64(first), false
	case first>>6 == length14Bits:
		return uint64(first&0x3f)<<8 | uint64(r.byte()), false
	case first == length32Bits:
		return r.number(4), false
	case first == length64Bits:
		return r.number(8), false
	case first>>6 == encodedBits:
		return uint64(first & 0x3f), true
	}
	r.failFormat(fmt.Errorf("the dump has a length that starts with %#x", first))
	return 0, false
}

func (r *reader) length() uint64 {
	n, encoded := r.lengthOrEncoding()
	if encoded {
		r.failFormat(fmt.Errorf("the dump has an encoding, %d, where a length belongs", n))
	}
	return n
}

func (r *reader) lengths(count int) {
	for range count {
		r.length()
	}
}

// each reads a count, and that many elements: each has at least one byte, so a count that is too high ends with the dump.
func (r *reader) each(skipElement func()) {
	for n := r.length(); n > 0 && r.err == nil; n-- {
		skipElement()
	}
}

// Encodings of strings (RDB_ENC_* in rdb.h): numbers, and compressed ones.
const (
	encodedInt32 = 2 // that of n has 1<<n bytes
	encodedLZF   = 3
)

// string skips a string.
func (r *reader) string() {
	n, encoded := r.lengthOrEncoding()
	switch {
	case !encoded:
		r.skip(n)
	case n == encodedLZF:
		compressed := r.length()
		r.length() // the string's own
		r.skip(compressed)
	case n <= encodedInt32:
		r.skip(1 << n)
	default:
		r.failFormat(fmt.Errorf("the dump has a string of the unknown encoding %d", n))
	}
}
