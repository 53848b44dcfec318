package wal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// writer writes a log as etcd does: into segments that are filled up with zeros.
type writer struct {
	segments []written
	crc      uint32
	last     uint64 // index of the last entry
	first    uint64 // sequence of the first segment
}

// written is one segment.
type written struct {
	name string
	text []byte
}

func newWriter() *writer {
	w := &writer{}
	w.cut(0)
	return w.snapshot(0, 0)
}

// continued is a log whose segments before that sequence were dropped, with the entries before that index.
func continued(sequence, index uint64) *writer {
	w := &writer{first: sequence, last: index - 1, crc: 7}
	return w.cut(index)
}

// cut starts a segment, whose name has the next index.
func (w *writer) cut(index uint64) *writer {
	s := segment{sequence: w.first + uint64(len(w.segments)), firstIndex: index}
	w.segments = append(w.segments, written{name: s.fileName()})
	w.append(crcType, nil)
	return w.append(metadataType, []byte("metadata"))
}

func (w *writer) next() *writer { return w.cut(w.last + 1) }

func (w *writer) append(kind uint64, data []byte) *writer {
	w.crc = crc32.Update(w.crc, castagnoli, data)
	var text []byte
	text = protowire.AppendVarint(protowire.AppendTag(text, 1, protowire.VarintType), kind)
	text = protowire.AppendVarint(protowire.AppendTag(text, 2, protowire.VarintType), uint64(w.crc))
	if data != nil {
		text = protowire.AppendBytes(protowire.AppendTag(text, 3, protowire.BytesType), data)
	}
	frame := uint64(len(text))
	if padding := (frameSize - len(text)%frameSize) % frameSize; padding > 0 {
		frame |= uint64(0x80|padding) << 56
		text = append(text, make([]byte, padding)...)
	}
	tail := &w.segments[len(w.segments)-1]
	tail.text = append(binary.LittleEndian.AppendUint64(tail.text, frame), text...)
	return w
}

// numbers is a message of these fields.
func numbers(fields map[protowire.Number]uint64) []byte {
	var text []byte
	for number := range protowire.Number(5) {
		if value, ok := fields[number]; ok {
			text = protowire.AppendVarint(protowire.AppendTag(text, number, protowire.VarintType), value)
		}
	}
	return text
}

func (w *writer) entry(term, index uint64, size int) *writer {
	data := protowire.AppendTag(numbers(map[protowire.Number]uint64{1: 0, 2: term, 3: index}), 4, protowire.BytesType)
	w.last = index
	return w.append(entryType, protowire.AppendBytes(data, slices.Repeat([]byte{0xa5}, size)))
}

// entries writes those of a term up to an index.
func (w *writer) entries(term, to uint64) *writer {
	for w.last < to {
		w.entry(term, w.last+1, 10)
	}
	return w
}

func (w *writer) snapshot(term, index uint64) *writer {
	data := protowire.AppendTag(numbers(map[protowire.Number]uint64{1: index, 2: term}), 3, protowire.BytesType)
	return w.append(snapshotType, protowire.AppendBytes(data, numbers(map[protowire.Number]uint64{1: 5})))
}

func (w *writer) state(term, commit uint64) *writer {
	return w.append(stateType, numbers(map[protowire.Number]uint64{1: term, 2: 3, 3: commit}))
}

// length is that of the last segment.
func (w *writer) length() int { return len(w.segments[len(w.segments)-1].text) }

// reserved is how many zeros follow what was written.
const reserved = 4096

// write writes the log into a directory.
func (w *writer) write(t testing.TB) string {
	t.Helper()
	directory := t.TempDir()
	for i, s := range w.segments {
		text := s.text
		if i == len(w.segments)-1 {
			text = append(slices.Clone(text), make([]byte, reserved)...)
		}
		writeFile(t, directory+"/"+s.name, text)
	}
	return directory
}

func writeFile(t testing.TB, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// tail is the name of the last segment in a directory.
func (w *writer) tail(directory string) string {
	return fmt.Sprintf("%s/%s", directory, w.segments[len(w.segments)-1].name)
}
