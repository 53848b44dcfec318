package wal

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

func TestReadEnd(t *testing.T) {
	const commit = 2
	for _, c := range []struct {
		name string
		log  *writer
		end  End
		err  string
	}{
		{name: "a new log has no entry", log: newWriter()},
		{name: "the last entry counts, not the last commit", log: newWriter().entries(2, 9).state(3, commit), end: End{2, 9}},
		{name: "an entry takes the place of all from its index on", log: newWriter().entries(2, 9).entry(4, 6, 0), end: End{4, 6}},
		{name: "a record of no known type", log: newWriter().entries(2, 9).append(0, nil), err: "unknown type 0"},
		{name: "a segment follows another", log: newWriter().entries(2, 9).next().entries(2, 12).next().entries(3, 13), end: End{3, 13}},
		{name: "the last segment has no entry", log: newWriter().entries(2, 9).next().state(2, commit), end: End{2, 9}},
		{name: "the first segments were dropped", log: continued(3, 50).snapshot(2, 40).entries(2, 60), end: End{2, 60}},
		{name: "of what was dropped the term is not known", log: continued(3, 50).snapshot(2, 40), err: "term of entry 49"},
		{name: "its own snapshot is within the log", log: newWriter().entries(2, 9).snapshot(2, 5), end: End{2, 9}},
		{name: "a snapshot of the leader is beyond the log", log: newWriter().entries(2, 9).snapshot(3, 40), end: End{3, 40}},
		{name: "entries follow a snapshot of the leader", log: newWriter().entries(2, 9).snapshot(3, 40).entry(3, 41, 0), end: End{3, 41}},
		{name: "a snapshot of the leader ends entries that were not confirmed", log: newWriter().entries(2, 9).snapshot(3, 7), end: End{3, 7}},
		{name: "a snapshot of an earlier term is beyond the log", log: newWriter().entries(4, 9).snapshot(3, 40), end: End{3, 40}},
		{name: "an entry is missing", log: newWriter().entries(2, 9).entry(2, 11, 0), err: "entry 11 follows entry 9"},
		{name: "a large entry", log: newWriter().entry(2, 1, 11<<20), end: End{2, 1}},
		{name: "an entry that is too large", log: newWriter().entry(2, 1, maxRecord), err: "no more than"},
		{name: "an entry is none", log: newWriter().append(entryType, []byte{0xff}), err: "malformed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			end, err := ReadEnd(c.log.write(t))
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) || end != c.end {
				t.Errorf("got %v, %v", end, err)
			}
		})
	}
}

func TestALogWithoutAVerdict(t *testing.T) {
	log := newWriter().entries(2, 9).next().entries(2, 20).next().entries(2, 30)
	for _, c := range []struct {
		name  string
		spoil func(directory string) error
		err   string
	}{
		{"there is no directory", os.RemoveAll, "no such file"},
		{"a segment is missing", func(d string) error { return os.Remove(d + "/" + log.segments[1].name) }, "before 0000000000000002"},
		{"no segment is left", func(d string) error {
			for _, s := range log.segments {
				if err := os.Rename(d+"/"+s.name, d+"/"+s.name+".broken"); err != nil {
					return err
				}
			}
			return nil
		}, "no segment"},
		{"an earlier segment ends too early", func(d string) error { return os.Truncate(d+"/"+log.segments[1].name, 99) }, "ends too early"},
		{"a bit of an earlier segment is wrong", func(d string) error {
			return os.WriteFile(d+"/"+log.segments[1].name, flipped(log.segments[1].text, 110), 0o600)
		}, "at byte 88: "},
		{"a bit of the last segment is wrong", func(d string) error {
			return os.WriteFile(log.tail(d), flipped(log.segments[2].text, 110), 0o600)
		}, "a checksum is wrong"},
		{"a segment is another log's", func(d string) error {
			return os.WriteFile(log.tail(d), newWriter().entries(5, 9).next().entries(5, 20).next().entries(5, 30).segments[2].text, 0o600)
		}, "a checksum is wrong"},
		{"a segment cannot be read", func(d string) error {
			return errors.Join(os.Remove(log.tail(d)), os.Mkdir(log.tail(d), 0o700))
		}, "is a directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			directory := log.write(t)
			if err := c.spoil(directory); err != nil {
				t.Fatal(err)
			}
			if end, err := ReadEnd(directory); err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %v, %v", end, err)
			}
		})
	}
}

func flipped(text []byte, at int) []byte {
	text = append([]byte(nil), text...)
	text[at] ^= 1
	return text
}

// TestWhatWasSyncedCounts cuts a log at every byte after it was last synced: nothing that a member has confirmed may then be missing. What
// follows the cut was never written, or is still reserved: a disk writes whole sectors.
func TestWhatWasSyncedCounts(t *testing.T) {
	log := newWriter().entries(2, 9).next().entries(2, 20).entry(3, 21, 700)
	synced := log.length()
	log.entry(3, 22, 1500).state(3, 21).entry(4, 22, 30).entries(4, 25).snapshot(4, 22)
	whole, ends := log.segments[1].text, map[End]bool{}
	for at := synced; at <= len(whole); at++ {
		unwritten, reservedFrom := whole[:at:at], max(synced, at/sectorSize*sectorSize)
		for _, text := range [][]byte{unwritten, append(whole[:reservedFrom:reservedFrom], make([]byte, reserved)...)} {
			r, before := reader{}, log.segments[0].text
			err := errors.Join(r.read(bytes.NewReader(before), int64(len(before)), false), r.read(bytes.NewReader(text), int64(len(text)), true))
			if err != nil || r.end.IsBelow(End{3, 21}) {
				t.Fatalf("cut at byte %d of %d, of a file of %d: it ends at %v, %v", at, len(whole), len(text), r.end, err)
			}
			ends[r.end] = true
		}
	}
	for _, end := range []End{{3, 21}, {3, 22}, {4, 22}, {4, 25}} {
		if !ends[end] {
			t.Errorf("no cut ends at %v", end)
		}
	}
}

func TestIsBelow(t *testing.T) {
	for _, c := range []struct {
		name         string
		end, entry   End
		isBelowEntry bool
	}{
		{"at the entry", End{2, 9}, End{2, 9}, false},
		{"beyond it, in a later term", End{3, 10}, End{2, 9}, false},
		{"before it", End{2, 8}, End{2, 9}, true},
		{"before it, in a later term", End{3, 8}, End{2, 9}, true},
		{"beyond it, with entries of an earlier term that were not confirmed", End{1, 20}, End{2, 9}, true},
		{"no term is known of the entry", End{1, 9}, End{0, 9}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.end.IsBelow(c.entry); got != c.isBelowEntry {
				t.Errorf("got %v", got)
			}
		})
	}
}

// FuzzReadEnd reads whatever is on a volume.
func FuzzReadEnd(f *testing.F) {
	log := newWriter().entries(2, 9).snapshot(3, 40).entry(3, 41, 2000)
	f.Add(log.segments[0].text, []byte{})
	f.Add(log.next().segments[0].text, log.segments[1].text)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1}, []byte{8, 0, 0, 0, 0, 0, 0, 0x87, 10})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		directory := t.TempDir()
		writeFile(t, directory+"/"+segment{}.fileName(), first)
		if len(second) > 0 {
			writeFile(t, directory+"/"+segment{sequence: 1, firstIndex: 42}.fileName(), second)
		}
		end, err := ReadEnd(directory)
		if err != nil && end != (End{}) {
			t.Errorf("an error, and %v", end)
		}
	})
}

// zeros is a reader that never ends.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestAHostileFrameTakesNoMemory reads files of 4 TiB, as one without content may claim to be, with records of any length.
func TestAHostileFrameTakesNoMemory(t *testing.T) {
	for _, frame := range [][]byte{
		{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x87}, {0, 0, 0, 0, 0, 1, 0, 0}, {1, 0, 0, 1, 0, 0, 0, 0x87},
		{0xff, 0xff, 0xff, 0, 0, 0, 0, 0x81},
	} {
		log := reader{}
		if err := log.read(io.MultiReader(bytes.NewReader(frame), zeros{}), 1<<42, false); err == nil {
			t.Errorf("frame %x is no error", frame)
		}
		if cap(log.buf) > 2*maxRecord {
			t.Errorf("frame %x takes %d bytes", frame, cap(log.buf))
		}
	}
}
