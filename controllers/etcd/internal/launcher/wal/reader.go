package wal

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
)

const (
	// frameSize is the length of the number before each record, in bytes: 56 bits have the length of the record, the other 8 how many
	// bytes fill up the last 8.
	frameSize = 8
	// maxRecord bounds the memory for one record, in bytes. etcd advises against requests of more than 10 MiB
	// (recommendedMaxRequestBytes in server/etcdserver/server.go), and one entry has one request.
	maxRecord = 16 << 20
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	errTorn    = errors.New("a record ends too early")
	errCRC     = errors.New("a checksum is wrong")
)

// reader reads one segment after the other.
type reader struct {
	end End
	crc uint32 // of the data of all records so far
	buf []byte
}

// readSegment reads one file.
func (r *reader) readSegment(name string, isLast bool) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return r.read(bufio.NewReaderSize(file, 1<<16), info.Size(), isLast)
}

// read reads a segment of that size up to its end, or to the zeros that are reserved for what follows. Only the last segment may end
// with a record that was not written whole.
func (r *reader) read(in io.Reader, size int64, isLast bool) error {
	for offset := int64(0); ; {
		n, err := r.readRecord(in, offset, size)
		switch {
		case isLast && errors.Is(err, errTorn):
			return nil
		case err != nil:
			return fmt.Errorf("at byte %d: %w", offset, err)
		case n == 0:
			return nil
		}
		offset += n
	}
}

// readRecord reads the record at an offset of a file of that size. It returns how long it is, with all around it; 0 at the end.
func (r *reader) readRecord(in io.Reader, offset, size int64) (int64, error) {
	var frame [frameSize]byte
	switch _, err := io.ReadFull(in, frame[:]); {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return 0, errTorn
	case errors.Is(err, io.EOF):
		return 0, nil
	case err != nil:
		return 0, err
	}
	length, padding := splitFrame(binary.LittleEndian.Uint64(frame[:]))
	switch {
	case length == 0:
		return 0, nil
	case length > size-offset-frameSize-padding:
		return 0, errTorn
	case length > maxRecord:
		return 0, fmt.Errorf("a record has %d bytes, and no more than %d are read", length, maxRecord)
	}
	r.buf = slices.Grow(r.buf[:0], int(length+padding))[:length+padding]
	if _, err := io.ReadFull(in, r.buf); err != nil {
		return 0, err
	}
	err := r.take(r.buf[:length])
	if (errors.Is(err, errMalformed) || errors.Is(err, errCRC)) && isTorn(r.buf, offset+frameSize) {
		err = errTorn
	}
	return frameSize + length + padding, err
}

// splitFrame splits the number before a record (decodeFrameSize in server/storage/wal/decoder.go).
func splitFrame(frame uint64) (length, padding int64) {
	length = int64(frame & (1<<56 - 1)) //nolint:gosec // 56 bits
	if frame>>63 != 0 {
		padding = int64(frame >> 56 & 7) //nolint:gosec // 3 bits
	}
	return length, padding
}

// take takes one record into account.
func (r *reader) take(text []byte) error {
	next, err := parseRecord(text)
	if err != nil {
		return err
	}
	if next.kind == crcType { // the first of each segment
		if r.crc != 0 && r.crc != next.crc {
			return errCRC
		}
		r.crc = next.crc
		return nil
	}
	if r.crc = crc32.Update(r.crc, castagnoli, next.data); r.crc != next.crc {
		return errCRC
	}
	switch next.kind {
	case metadataType, stateType:
		return nil
	case entryType:
		return r.takeEntry(next.data)
	case snapshotType:
		return r.takeSnapshot(next.data)
	}
	return fmt.Errorf("a record is of the unknown type %d", next.kind)
}

// takeEntry has the log end with an entry. It takes the place of all from its index on: these were not confirmed.
func (r *reader) takeEntry(text []byte) error {
	entry, err := parseEntry(text)
	if err != nil {
		return err
	}
	if entry.Index > r.end.Index+1 {
		return fmt.Errorf("entry %d follows entry %d", entry.Index, r.end.Index)
	}
	r.end = entry
	return nil
}

// takeSnapshot has the log end with a snapshot that the leader has sent. A server makes snapshots of its own log, too: these change
// nothing, as neither their index nor their term is beyond its end. Before the first entry, that term is not known.
func (r *reader) takeSnapshot(text []byte) error {
	snapshot, err := parseSnapshot(text)
	if err != nil {
		return err
	}
	if snapshot.Index > r.end.Index || snapshot.Term > r.end.Term && r.end.Term != 0 {
		r.end = snapshot
	}
	return nil
}
