package scratch

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"golang.org/x/sys/unix"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

const (
	// evictionMargin is kept free below the limit, in bytes: the kubelet counts whole blocks and directories. Of a small limit, it is
	// an eighth.
	evictionMargin = 2 << 20
	// minFree is left on the node's disk, in bytes, and minFreePercent of the whole disk: the kubelet evicts pods of the node when less
	// than a tenth is free, and others write there, too.
	minFree        = 64 << 20
	minFreePercent = 12
)

// Room is what a pod may have on its scratch volume. What writes there asks before: the kubelet, which would evict the pod, could say
// neither what was written nor what was missing.
type Room struct {
	backup.Scratch
	// Dir is on the volume.
	Dir string
	// Disk reads how much space the disk has; nil means as the kernel says.
	Disk func(dir string) (Space, error)
}

// Space is how much a disk has free, and in all, in bytes.
type Space struct{ Free, Total int64 }

// maxSize bounds sizes, in bytes, so that sums of them do not overflow: a manifest may have any.
const maxSize = math.MaxInt64 / 8

// FullError says that data does not fit on the scratch volume.
type FullError struct {
	// Size in bytes that the volume would have, at least.
	Size int64
	why  string
}

func (f *FullError) Error() string { return f.why }

// NodeFullError says that data does not fit on the node's disk. Another node may have the room.
type NodeFullError struct {
	// Size in bytes that the scratch volume would have, at least.
	Size int64
	why  string
}

func (n *NodeFullError) Error() string { return n.why }

// SizeWithoutRoom is the size of what an error says there is no room for, at least, in bytes; 0 if the error says nothing of that.
func SizeWithoutRoom(err error) int64 {
	if full, ok := errors.AsType[*FullError](err); ok {
		return full.Size
	}
	if full, ok := errors.AsType[*NodeFullError](err); ok {
		return full.Size
	}
	return 0
}

// Check returns an error if more bytes do not fit next to the bytes that are there: a *FullError beyond the limit, permanent if the
// user set the limit; a *NodeFullError if the node's disk has too little free space; another error if the disk cannot be read.
func (r Room) Check(there, more int64) error {
	more = min(more, maxSize)
	need := min(there, maxSize) + more
	if usable := r.Limit - min(evictionMargin, r.Limit/8); r.Limit > 0 && need > usable {
		full := &FullError{Size: need, why: fmt.Sprintf("the scratch volume may have %d MiB, and needs at least %d MiB", usable>>20,
			inMiB(need))}
		if r.Fixed {
			full.why += fmt.Sprintf(": set limits.ephemeral-storage in spec.resources to at least %d MiB",
				inMiB(backup.PodLimitFor(need+evictionMargin)))
			return backup.Permanent(full)
		}
		return full
	}
	read := r.Disk
	if read == nil {
		read = statDisk
	}
	disk, err := read(r.Dir)
	if err != nil {
		return fmt.Errorf("reading the free space of %s: %w", r.Dir, err)
	}
	if keep := max(minFree, disk.Total/100*minFreePercent); disk.Free-keep < more {
		return &NodeFullError{Size: need, why: fmt.Sprintf("the scratch volume needs %d MiB more, and the node's disk has %d MiB free, "+
			"of which %d MiB stay free: free disk space on the node, or schedule the pods elsewhere", inMiB(more), disk.Free>>20, inMiB(keep))}
	}
	return nil
}

// inMiB rounds up.
func inMiB(bytes int64) int64 { return (bytes + 1<<20 - 1) >> 20 }

func statDisk(dir string) (Space, error) {
	var is unix.Statfs_t
	if err := unix.Statfs(dir, &is); err != nil {
		return Space{}, err
	}
	return Space{Free: int64(is.Bavail) * is.Bsize, Total: int64(is.Blocks) * is.Bsize}, nil //nolint:gosec // of a disk
}

// File is a new file on the volume. It has no other way to be written to than Write, which asks for room.
type File struct {
	file    *os.File
	room    Room
	written int64
}

// NewFile returns a File for one that was just created.
func (r Room) NewFile(file *os.File) *File { return &File{file: file, room: r} }

var _ io.Writer = &File{}

// Write asks for room and writes.
func (f *File) Write(p []byte) (int, error) {
	if err := f.room.Check(f.written, int64(len(p))); err != nil {
		return 0, err
	}
	n, err := f.file.Write(p)
	if errors.Is(err, unix.ENOSPC) { // others have filled the disk since
		err = &NodeFullError{Size: f.written + int64(len(p)), why: "the node's disk was filled while the scratch volume was written to: " +
			"free disk space on the node, or schedule the pods elsewhere"}
	}
	f.written += int64(n)
	return n, err
}

// Name is that of the file.
func (f *File) Name() string { return f.file.Name() }
