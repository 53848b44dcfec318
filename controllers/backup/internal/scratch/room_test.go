package scratch

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// Before anything is written, the error says what is missing and where to allow more.
func TestRoomIsCheckedBeforeAWrite(t *testing.T) {
	const mib, gib, plenty = 1 << 20, 1 << 30, 1 << 40
	for name, c := range map[string]struct {
		limit, there, more, free, total int64
		fixed, nodeFull                 bool
		want                            string // "" for no error
		size                            int64  // that the error names
	}{
		"data that leaves the margin fits": {limit: 100 * mib, there: 50 * mib, more: 48 * mib, free: plenty},
		"data that uses the margin does not fit": {limit: 100 * mib, there: 50 * mib, more: 49 * mib, free: plenty,
			want: "may have 98 MiB, and needs at least 99 MiB", size: 99 * mib},
		"a size is rounded up": {limit: 100 * mib, more: 98*mib + 1, free: plenty,
			want: "may have 98 MiB, and needs at least 99 MiB", size: 98*mib + 1},
		"data beyond the user's limit needs a larger one": {limit: 100 * mib, fixed: true, more: 200 * mib, free: plenty,
			want: ": set limits.ephemeral-storage in spec.resources to at least 330 MiB", size: 200 * mib},
		"little data beyond the user's limit needs twice its size": {limit: 10 * mib, fixed: true, more: 20 * mib, free: plenty,
			want: "at least 44 MiB", size: 20 * mib},
		"a tiny limit shows no negative number": {limit: 1, fixed: true, more: 2 * mib, free: plenty,
			want: "the scratch volume may have 0 MiB, and needs at least 2 MiB: ", size: 2 * mib},
		"a size that no volume has shows no negative number": {limit: 100 * mib, there: math.MaxInt64, more: math.MaxInt64, free: plenty,
			want: "needs at least 2199023255552 MiB", size: 2 * maxSize},
		"without a limit, the disk's room counts": {there: plenty, more: mib, free: 65 * mib},
		"a small disk keeps 64 MiB": {there: mib, more: 2 * mib, free: 65 * mib, total: 100 * mib, nodeFull: true,
			want: "2 MiB more, and the node's disk has 65 MiB free, of which 64 MiB stay free", size: 3 * mib},
		"a disk keeps more than the kubelet wants": {more: gib, free: 12 * gib, total: 100 * gib, nodeFull: true,
			want: "of which 12288 MiB stay free", size: gib},
		"a disk that keeps enough has room": {more: gib, free: 13 * gib, total: 100 * gib},
		"a full disk is reported below a limit": {limit: 100 * mib, more: 2 * mib, free: 65 * mib, nodeFull: true,
			want: "free disk space on the node", size: 2 * mib},
	} {
		t.Run(name, func(t *testing.T) {
			room := Room{Scratch: backup.Scratch{Limit: c.limit, Fixed: c.fixed}, Dir: t.TempDir(),
				Disk: func(string) (Space, error) { return Space{Free: c.free, Total: c.total}, nil }}
			err := room.Check(c.there, c.more)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || backup.IsPermanent(err) != c.fixed {
				t.Errorf("got %v", err)
			}
			size := int64(0)
			full, isFull := errors.AsType[*FullError](err)
			if isFull {
				size = full.Size
			}
			nodeFull, isNodeFull := errors.AsType[*NodeFullError](err)
			if isNodeFull {
				size = nodeFull.Size
			}
			if size != c.size || isNodeFull != c.nodeFull || isFull && isNodeFull {
				t.Errorf("got the size %d of %T", size, err)
			}
		})
	}
}

// What a user had to set before there was a limit of the volume is enough with it: etcd writes some 122 MiB of log.
func TestAFormerLimitOfAUserIsEnough(t *testing.T) {
	const mib = 1 << 20
	disk := func(string) (Space, error) { return Space{Free: 1 << 40}, nil }
	for name, c := range map[string]struct {
		server              backup.ServerType
		podLimit, raw, more int64
	}{
		"an etcd is started next to its data": {backup.Etcd, 256 * mib, mib, backup.VerifyRoom(backup.Etcd, mib)},
		"a dump of a Redis":                   {backup.Redis, 128 * mib, 60 * mib, backup.VerifyRoom(backup.Redis, 60*mib)},
		"a small dump of a Redis":             {backup.Redis, 16 * mib, mib, backup.VerifyRoom(backup.Redis, mib)},
	} {
		t.Run(name, func(t *testing.T) {
			room := Room{Scratch: backup.Scratch{Limit: backup.ScratchOfPod(c.podLimit), Fixed: true}, Disk: disk}
			if err := room.Check(c.raw, c.more); err != nil {
				t.Error(err)
			}
		})
	}
}

// A limit that an error asks for is enough.
func TestTheLimitThatIsAskedForIsEnough(t *testing.T) {
	for need := int64(1); need < 1<<34; need = need*3 + 1 {
		room := Room{Scratch: backup.Scratch{Limit: backup.ScratchOfPod(backup.PodLimitFor(need + evictionMargin))},
			Disk: func(string) (Space, error) { return Space{Free: 1 << 40}, nil }}
		if err := room.Check(0, need); err != nil {
			t.Error(err)
		}
	}
}

func TestAFileDoesNotGrowBeyondItsRoom(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	bounded := Room{Scratch: backup.Scratch{Limit: 8*evictionMargin + 10}, Dir: filepath.Dir(file.Name()),
		Disk: func(string) (Space, error) { return Space{Free: 1 << 40}, nil }}.NewFile(file)
	if n, err := bounded.Write(make([]byte, 7*evictionMargin+10)); n != 7*evictionMargin+10 || err != nil {
		t.Errorf("wrote %d: %v", n, err)
	}
	if n, err := bounded.Write(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("wrote %d: %v", n, err)
	}
	if is, err := file.Stat(); err != nil || is.Size() != 7*evictionMargin+10 {
		t.Errorf("it has %d bytes: %v", is.Size(), err)
	}
}

// Others may fill the disk after the check. That is the node's lack of room all the same.
func TestADiskThatIsFilledMeanwhileIsTheNodes(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = full.Close() }()
	room := Room{Disk: func(string) (Space, error) { return Space{Free: 1 << 40}, nil }}
	_, err = room.NewFile(full).Write(make([]byte, 100))
	if _, isNode := errors.AsType[*NodeFullError](err); !isNode || SizeWithoutRoom(err) != 100 || backup.IsPermanent(err) {
		t.Errorf("got %v", err)
	}
}

func TestTheFreeSpaceOfADiskIsRead(t *testing.T) {
	if err := (Room{Dir: t.TempDir()}).Check(0, 1<<62); err == nil || !strings.Contains(err.Error(), "MiB free") {
		t.Errorf("there is room for all: %v", err)
	}
}
