package scratch

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

const (
	// evictionMargin is kept free below the limit, in bytes: the kubelet counts whole blocks and directories.
	evictionMargin = 8 << 20
	// minFree is left on the node's disk, in bytes, for whatever else is on it.
	minFree = 64 << 20
)

// Room is what a pod may have on its scratch volume. What writes there asks before: the kubelet, which would evict the pod, could say
// neither what was written nor what was missing.
type Room struct {
	backup.Scratch
	// Dir is on the volume.
	Dir string
	// free is how many bytes the disk has free; a test has another than that of the disk.
	free func(dir string) (int64, error)
}

// FullError says that data does not fit on the scratch volume.
type FullError struct {
	// Size in bytes that the volume would have, at least.
	Size int64
	why  string
}

func (f *FullError) Error() string { return f.why }

// Check returns an error if more bytes do not fit next to the bytes that are there: a *FullError beyond the limit, permanent if the
// user set the limit; another error if the node's disk has too little free space or cannot be read.
func (r Room) Check(there, more int64) error {
	if usable := r.Limit - evictionMargin; r.Limit > 0 && there+more > usable {
		full := &FullError{Size: there + more, why: fmt.Sprintf("the scratch volume may have %d MiB, and needs at least %d MiB", usable>>20,
			(there+more)>>20)}
		if r.Fixed {
			full.why += ": raise limits.ephemeral-storage in spec.resources"
			return backup.Permanent(full)
		}
		return full
	}
	free := r.free
	if free == nil {
		free = freeBytes
	}
	left, err := free(r.Dir)
	if err != nil {
		return fmt.Errorf("reading the free space of %s: %w", r.Dir, err)
	}
	if left-minFree < more {
		return fmt.Errorf("the scratch volume needs %d MiB more, and the node's disk has %d MiB free, of which %d MiB stay free: "+
			"free disk space on the node, or schedule the pods elsewhere", more>>20, left>>20, minFree>>20)
	}
	return nil
}

func freeBytes(dir string) (int64, error) {
	var is unix.Statfs_t
	if err := unix.Statfs(dir, &is); err != nil {
		return 0, err
	}
	return int64(is.Bavail) * is.Bsize, nil //nolint:gosec // of a disk
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
	f.written += int64(n)
	return n, err
}

// Name is that of the file.
func (f *File) Name() string { return f.file.Name() }
