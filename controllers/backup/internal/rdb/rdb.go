// Package rdb reads dumps of Redis and Valkey: it checks them and counts their keys, in one pass and with little memory, whatever
// their size. It keeps no value. The format is described by rdb.c and rdb.h of Redis 7.4. It is pure.
package rdb

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/untrusted"
)

// Uncounted is the number of keys of a dump with a value whose layout is not known.
const Uncounted = -1

// Dump describes a dump.
type Dump struct {
	// Version of the format, which an earlier server cannot load: 10 is of Redis 7.0, 11 of 7.2 and Valkey 8, 12 of Redis 7.4
	// and 8.0, 80 of Valkey 9.
	Version int
	// Keys in it, and those of them that have a time to live, or Uncounted.
	Keys, Expires int64
	// Databases is the number of databases that a server must have to load it, or Uncounted.
	Databases int64
}

const (
	// bufferSize is how much is read at once, in bytes.
	bufferSize = 64 << 10
	// minVersion is the first version with a checksum, of Redis 2.6.
	minVersion = 5
)

var (
	errTruncated = errors.New("the dump is truncated")
	errBehind    = errors.New("the dump continues after its end")
	errUnknown   = errors.New("the dump has a value of an unknown type")
)

// Read reads a dump to its end. It returns an error for one that is not whole. A dump whose checksum is right is whole even if it
// has values that cannot be skipped one by one, those of a later server: then it is Uncounted.
func Read(from io.Reader) (Dump, error) {
	sum := newChecksum()
	r := &reader{buffer: bufio.NewReaderSize(io.TeeReader(from, sum), bufferSize)}
	var dump Dump
	if dump.Version = r.version(); r.err != nil {
		return Dump{}, r.err
	}
	if r.content(&dump); r.unreadable {
		return Dump{}, r.err
	}
	if _, err := r.buffer.WriteTo(io.Discard); err != nil {
		return Dump{}, err
	}
	matches, err := sum.matches()
	switch {
	case err != nil:
		return Dump{}, errors.Join(err, r.err)
	case r.err != nil && !matches:
		return Dump{}, r.err
	case r.err != nil:
		dump.Keys, dump.Expires, dump.Databases = Uncounted, Uncounted, Uncounted
	}
	return dump, nil
}

// version reads the dump's first nine bytes.
func (r *reader) version() int {
	var magic [9]byte
	if _, err := io.ReadFull(r.buffer, magic[:]); err != nil {
		r.failStream(err)
		return 0
	}
	digits, isRedis := strings.CutPrefix(string(magic[:]), "REDIS")
	if !isRedis {
		digits, r.isValkey = strings.CutPrefix(string(magic[:]), "VALKEY")
	}
	version, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || version < minVersion {
		r.failFormat(fmt.Errorf("%s is not how a dump starts", untrusted.Quote(string(magic[:]))))
	}
	return int(version) //nolint:gosec // of 16 bits
}

// These come before keys, in place of a value's type (RDB_OPCODE_* in rdb.h).
const (
	opSlotInfo   = 244
	opFunction   = 245
	opModuleAux  = 247
	opIdle       = 248
	opFrequency  = 249
	opAux        = 250
	opResizeDB   = 251
	opExpireMS   = 252
	opExpire     = 253
	opDatabase   = 254
	opEnd        = 255
	firstNoValue = 240 // types of values are below
)

// content reads all behind the version, the checksum included.
func (r *reader) content(dump *Dump) {
	for r.err == nil {
		switch op := r.byte(); op {
		case opEnd:
			r.end()
			return
		case opAux:
			r.string() // a name
			r.string() // and what the server says by it, such as its version
		case opDatabase:
			number := r.length()
			dump.Databases = max(dump.Databases, int64(min(number, 1<<31)+1)) //nolint:gosec // of 32 bits
		case opExpireMS:
			r.skip(8)
			dump.Expires++
		case opExpire:
			r.skip(4)
			dump.Expires++
		case opResizeDB:
			r.lengths(2)
		case opSlotInfo:
			r.lengths(3)
		case opIdle:
			r.length()
		case opFrequency:
			r.skip(1)
		case opFunction:
			r.string()
		case opModuleAux:
			r.length() // the module's ID
			r.moduleValue()
		default:
			r.key(op)
			dump.Keys++
		}
	}
}

// key skips a key and its value.
func (r *reader) key(valueType byte) {
	if valueType >= firstNoValue {
		r.failFormat(errUnknown)
		return
	}
	r.string()
	r.value(valueType)
}

// end reads the checksum, behind which there is nothing.
func (r *reader) end() {
	r.skip(checksumSize)
	if _, err := r.buffer.Peek(1); r.err == nil && err == nil {
		r.failFormat(errBehind)
	}
}
