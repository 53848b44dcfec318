package scratch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// Before anything is written, the error says what is missing and where to allow more.
func TestRoomIsCheckedBeforeAWrite(t *testing.T) {
	const mib, plenty = 1 << 20, 1 << 40
	for name, c := range map[string]struct {
		limit, there, more, free int64
		fixed                    bool
		want                     string // "" for no error
		size                     int64  // that the error names
	}{
		"it fits": {limit: 100 * mib, there: 50 * mib, more: 42 * mib, free: plenty},
		"it would be evicted": {limit: 100 * mib, there: 50 * mib, more: 43 * mib, free: plenty,
			want: "may have 92 MiB, and needs at least 93 MiB", size: 93 * mib},
		"its user allows no more": {limit: 100 * mib, fixed: true, more: 93 * mib, free: plenty,
			want: "raise limits.ephemeral-storage", size: 93 * mib},
		"there is no limit, and the disk has room": {there: plenty, more: mib, free: 65 * mib},
		"the disk has no room":                     {more: 2 * mib, free: 65 * mib, want: "2 MiB more, and the node's disk has 65 MiB free"},
		"the disk has no room below a limit": {limit: 100 * mib, more: 2 * mib, free: 65 * mib,
			want: "free disk space on the node"},
	} {
		t.Run(name, func(t *testing.T) {
			room := Room{Scratch: backup.Scratch{Limit: c.limit, Fixed: c.fixed}, Dir: t.TempDir(),
				free: func(string) (int64, error) { return c.free, nil }}
			err := room.Check(c.there, c.more)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || backup.IsPermanent(err) != c.fixed {
				t.Errorf("got %v", err)
			}
			full, isFull := errors.AsType[*FullError](err)
			if isFull != (c.size > 0) || isFull && full.Size != c.size {
				t.Errorf("got %+v", full)
			}
		})
	}
}

func TestAFileDoesNotGrowBeyondItsRoom(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	bounded := Room{Scratch: backup.Scratch{Limit: evictionMargin + 10}, Dir: filepath.Dir(file.Name())}.NewFile(file)
	if n, err := bounded.Write(make([]byte, 10)); n != 10 || err != nil {
		t.Errorf("wrote %d: %v", n, err)
	}
	if n, err := bounded.Write(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("wrote %d: %v", n, err)
	}
	if is, err := file.Stat(); err != nil || is.Size() != 10 {
		t.Errorf("it has %d bytes: %v", is.Size(), err)
	}
}

func TestTheFreeSpaceOfADiskIsRead(t *testing.T) {
	if err := (Room{Dir: t.TempDir()}).Check(0, 1<<62); err == nil || !strings.Contains(err.Error(), "MiB free") {
		t.Errorf("there is room for all: %v", err)
	}
}
