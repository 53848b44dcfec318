// Package wal reads where the log of an etcd member ends. It reads the files as etcd does (server/storage/wal in 3.6 and 3.7, server/wal
// in 3.5) and is linked into a program that is copied into each pod: etcd's own package would triple the size of that program, and keeps
// all entries in memory.
package wal

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// End is the last entry of a log, or the snapshot that has taken the place of all entries; the zero End is of a log without any.
type End struct {
	Term  uint64 `json:"term"`
	Index uint64 `json:"index"`
}

// IsBelow reports whether a log that ends there lacks an entry: terms and indexes of a log only rise.
func (e End) IsBelow(entry End) bool { return e.Term < entry.Term || e.Index < entry.Index }

func (e End) String() string { return fmt.Sprintf("entry %d of term %d", e.Index, e.Term) }

// ReadEnd reads all segments of the log in a directory, such as <data-dir>/member/wal. What a server was writing when it was killed or
// lost its power does not count, as it had confirmed nothing of that. An error says why the end is not known: etcd does not start on
// such a log, or reads it otherwise.
func ReadEnd(directory string) (End, error) {
	segments, err := listSegments(directory)
	if err != nil {
		return End{}, err
	}
	first := segments[0].firstIndex
	log := reader{end: End{Index: max(first, 1) - 1}} // of what was dropped before it, only the index is known
	for i, s := range segments {
		if err := log.readSegment(filepath.Join(directory, s.name), i == len(segments)-1); err != nil {
			return End{}, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if log.end.Term == 0 && log.end.Index > 0 {
		return End{}, fmt.Errorf("no entry shows the term of entry %d", log.end.Index)
	}
	return log.end, nil
}

// segment is one file of the log.
type segment struct {
	name                 string
	sequence, firstIndex uint64
}

// listSegments lists the segments in their order. None may be missing between two.
func listSegments(directory string) ([]segment, error) {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return nil, err
	}
	var segments []segment
	for _, entry := range entries {
		s := segment{name: entry.Name()}
		if n, err := fmt.Sscanf(s.name, "%016x-%016x.wal", &s.sequence, &s.firstIndex); n == 2 && err == nil && s.name == s.fileName() {
			segments = append(segments, s)
		}
	}
	slices.SortFunc(segments, func(a, b segment) int { return cmp.Compare(a.sequence, b.sequence) })
	for i, s := range segments {
		if i > 0 && s.sequence != segments[i-1].sequence+1 {
			return nil, fmt.Errorf("the segment before %s is missing", s.name)
		}
	}
	if len(segments) == 0 {
		return nil, fmt.Errorf("%s has no segment", directory)
	}
	return segments, nil
}

// fileName is the name that etcd gives the segment.
func (s segment) fileName() string { return fmt.Sprintf("%016x-%016x.wal", s.sequence, s.firstIndex) }
