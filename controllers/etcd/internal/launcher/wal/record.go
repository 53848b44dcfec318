package wal

import (
	"bytes"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// Types of records (server/storage/wal/wal.go).
const (
	metadataType = 1
	entryType    = 2
	stateType    = 3
	crcType      = 4
	snapshotType = 5
)

var errMalformed = errors.New("a record is malformed")

// record is walpb.Record.
type record struct {
	kind uint64
	crc  uint32
	data []byte
}

// parseRecord reads a record. Its data is that of the text.
func parseRecord(text []byte) (record, error) {
	var r record
	err := eachField(text, func(number protowire.Number, value uint64, data []byte) {
		switch number {
		case 1:
			r.kind = value
		case 2:
			r.crc = uint32(value) //nolint:gosec // as etcd reads a field of 32 bits
		case 3:
			r.data = data
		}
	})
	return r, err
}

// parseEntry reads the term and the index of a raftpb.Entry.
func parseEntry(text []byte) (End, error) { return parseEnd(text, 2, 3) }

// parseSnapshot reads those of a walpb.Snapshot.
func parseSnapshot(text []byte) (End, error) { return parseEnd(text, 2, 1) }

func parseEnd(text []byte, term, index protowire.Number) (End, error) {
	var e End
	err := eachField(text, func(number protowire.Number, value uint64, _ []byte) {
		switch number {
		case term:
			e.Term = value
		case index:
			e.Index = value
		}
	})
	return e, err
}

// eachField calls with each field of a message: a number or bytes, as the type of the field says.
func eachField(text []byte, do func(number protowire.Number, value uint64, data []byte)) error {
	for len(text) > 0 {
		number, kind, n := protowire.ConsumeTag(text)
		if n < 0 {
			return errMalformed
		}
		text = text[n:]
		var value uint64
		var data []byte
		switch kind {
		case protowire.VarintType:
			value, n = protowire.ConsumeVarint(text)
		case protowire.BytesType:
			data, n = protowire.ConsumeBytes(text)
		default:
			n = protowire.ConsumeFieldValue(number, kind, text)
		}
		if n < 0 {
			return errMalformed
		}
		do(number, value, data)
		text = text[n:]
	}
	return nil
}

// sectorSize is what a disk writes at once, in bytes (minSectorSize in server/storage/wal/decoder.go).
const sectorSize = 512

// isTorn reports whether a sector of a record is still as it was reserved, with zeros, so that the record was never written whole. The
// offset is that of the record in its file.
func isTorn(text []byte, offset int64) bool {
	for len(text) > 0 {
		n := min(sectorSize-int(offset%sectorSize), len(text))
		if len(bytes.Trim(text[:n], "\x00")) == 0 {
			return true
		}
		text, offset = text[n:], offset+int64(n)
	}
	return false
}
