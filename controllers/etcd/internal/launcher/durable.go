package launcher

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// makeDurable makes the directory, so that a power failure does not take it away.
func makeDurable(directory, volume string) error {
	if err := os.Mkdir(directory, 0o700); err != nil {
		return err
	}
	return syncDir(volume)
}

// writeDurable writes the file, so that a power failure does not take it away.
func writeDurable(name, text, volume string) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(file, text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return syncDir(volume)
}

// syncDir has what was made in a directory survive a power failure.
func syncDir(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// syncTree has a directory and all in it survive a power failure.
func syncTree(root string) error {
	return filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
		return errors.Join(err, syncDir(name)) // a file is synced in the same way
	})
}
