package rdb

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// reader reads the parts that a dump consists of. The first error stays, and nothing is read after it.
type reader struct {
	buffer   *bufio.Reader
	isValkey bool
	err      error
	// unreadable: the error is that of the stream, and nothing more can be had from it.
	unreadable bool
}

// fail notes an error in what the dump says.
func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// stop notes an error of the stream, which may just be over.
func (r *reader) stop(err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errTruncated
	}
	r.unreadable = true
	r.fail(err)
}

func (r *reader) byte() byte {
	if r.err != nil {
		return 0
	}
	b, err := r.buffer.ReadByte()
	if err != nil {
		r.stop(err)
	}
	return b
}

// skip skips so many bytes.
func (r *reader) skip(n uint64) {
	for n > 0 && r.err == nil {
		part := min(n, math.MaxInt32)
		if _, err := r.buffer.Discard(int(part)); err != nil { //nolint:gosec // of 31 bits
			r.stop(err)
		}
		n -= part
	}
}

// number reads a number of so many bytes.
func (r *reader) number(size int, order binary.ByteOrder) uint64 {
	if r.err != nil {
		return 0
	}
	at, err := r.buffer.Peek(size)
	if err != nil {
		r.stop(err)
		return 0
	}
	var n uint64
	switch size {
	case 1:
		n = uint64(at[0])
	case 2:
		n = uint64(order.Uint16(at))
	case 4:
		n = uint64(order.Uint32(at))
	default:
		n = order.Uint64(at)
	}
	r.skip(uint64(size)) //nolint:gosec // one of the above
	return n
}

// The first two bits of a length tell how long it is itself (RDB_*LEN in rdb.h).
const (
	length6Bits  = 0
	length14Bits = 1
	length32Bits = 0x80
	length64Bits = 0x81
	encodedBits  = 3
)

// lengthOrEncoding reads a length, or how the string is encoded that stands there.
func (r *reader) lengthOrEncoding() (n uint64, encoded bool) {
	first := r.byte()
	switch {
	case first>>6 == length6Bits:
		return uint64(first), false
	case first>>6 == length14Bits:
		return uint64(first&0x3f)<<8 | uint64(r.byte()), false
	case first == length32Bits:
		return r.number(4, binary.BigEndian), false
	case first == length64Bits:
		return r.number(8, binary.BigEndian), false
	case first>>6 == encodedBits:
		return uint64(first & 0x3f), true
	}
	r.fail(fmt.Errorf("the dump has a length that begins with %#x", first))
	return 0, false
}

func (r *reader) length() uint64 {
	n, encoded := r.lengthOrEncoding()
	if encoded {
		r.fail(fmt.Errorf("the dump has an encoding, %d, where a length belongs", n))
	}
	return n
}

func (r *reader) lengths(count int) {
	for range count {
		r.length()
	}
}

// each reads a count, and so many elements: each has at least one byte, so a count that is too high ends with the dump.
func (r *reader) each(skipElement func()) {
	for n := r.length(); n > 0 && r.err == nil; n-- {
		skipElement()
	}
}

// Encodings of strings (RDB_ENC_* in rdb.h): numbers, and compressed ones.
const (
	encodedInt8  = 0
	encodedInt16 = 1
	encodedInt32 = 2
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
		r.fail(fmt.Errorf("the dump has a string of the unknown encoding %d", n))
	}
}

// text reads a short string; one that is long, or compressed, is skipped.
func (r *reader) text() string {
	n, encoded := r.lengthOrEncoding()
	switch {
	case !encoded && n <= maxText:
		text := make([]byte, n)
		if _, err := io.ReadFull(r.buffer, text); err != nil {
			r.stop(err)
		}
		return string(text)
	case !encoded:
		r.skip(n)
	case n == encodedInt8:
		return strconv.Itoa(int(int8(r.number(1, binary.LittleEndian)))) //nolint:gosec // of 8 bits
	case n == encodedInt16:
		return strconv.Itoa(int(int16(r.number(2, binary.LittleEndian)))) //nolint:gosec // of 16 bits
	case n == encodedInt32:
		return strconv.Itoa(int(int32(r.number(4, binary.LittleEndian)))) //nolint:gosec // of 32 bits
	case n == encodedLZF:
		compressed := r.length()
		r.length()
		r.skip(compressed)
	default:
		r.fail(fmt.Errorf("the dump has a string of the unknown encoding %d", n))
	}
	return ""
}
