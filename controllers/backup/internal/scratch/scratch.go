// Package scratch opens files on a volume that containers of several images share. The program of any of them may have put a link
// to a Secret in a file's place, which a container that has that Secret would follow, or a named pipe, which blocks its reader.
package scratch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Open opens a regular file of at most that many bytes for reading. It neither follows a link nor waits for the other end of a
// pipe. The error has nothing of the content.
func Open(name string, most int64) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, syscall.ELOOP):
		return nil, refused(name, "it is a symbolic link")
	case errors.Is(err, syscall.ENXIO):
		return nil, refused(name, "it is a socket")
	case err != nil:
		return nil, err
	}
	is, err := file.Stat()
	switch {
	case err != nil:
	case !is.Mode().IsRegular():
		err = refused(name, "it is not a regular file")
	case is.Size() > most:
		err = refused(name, fmt.Sprintf("it has %d bytes, and at most %d are expected", is.Size(), most))
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Read returns the content of a file that Open would open.
func Read(name string, most int64) ([]byte, error) {
	file, err := Open(name, most)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(content)) > most { // it has grown since
		err = refused(name, fmt.Sprintf("it has more than %d bytes", most))
	}
	return content, err
}

// ErrRefused says that there is something in a file's place that the runner has not put there.
var ErrRefused = errors.New("another container has changed the scratch volume")

func refused(name, why string) error {
	return &fs.PathError{Op: "open", Path: filepath.Base(name), Err: fmt.Errorf("%w: %s", ErrRefused, why)}
}
