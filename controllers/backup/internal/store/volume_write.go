package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// An object is written to a hidden file in the same folder, which gets its name when all of it is on the disk.
const (
	partialPrefix = "."
	partialSuffix = ".partial"
)

// partial is the name of the file that an object is written to. That of such a file is itself.
func partial(name string) string {
	folder, base := path.Split(name)
	if strings.HasPrefix(base, partialPrefix) && strings.HasSuffix(base, partialSuffix) {
		return name
	}
	return folder + partialPrefix + base + partialSuffix
}

func (v *volumeStore) Put(ctx context.Context, name string, content io.Reader) error {
	switch _, err := v.Stat(ctx, name); {
	case err == nil:
		return alreadyThere(name)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := v.makeFolder(path.Dir(name)); err != nil {
		return wrapError("making the folder of "+name, err)
	}
	reader := &contentReader{ctx: ctx, from: content}
	made, err := v.write(partial(name), reader)
	if err == nil {
		err = v.publish(name)
	}
	err = wrapError("writing "+name, err)
	if reader.err != nil {
		err = reader.err
	}
	if err != nil && made {
		err = errors.Join(err, v.remove(partial(name)))
	}
	return err
}

// contentReader ends with its context, and distinguishes an error of the content from one of the volume.
type contentReader struct {
	ctx  context.Context
	from io.Reader
	err  error
}

func (c *contentReader) Read(b []byte) (n int, err error) {
	if err = c.ctx.Err(); err == nil {
		n, err = c.from.Read(b)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}

// makeFolder makes a folder and those above it, and has them survive a crash.
func (v *volumeStore) makeFolder(folder string) error {
	if _, err := v.root.Stat(folder); err == nil {
		return nil
	}
	if err := v.root.MkdirAll(folder, folderMode); err != nil {
		return err
	}
	for folder != "." {
		folder = path.Dir(folder)
		if err := v.sync(folder); err != nil {
			return err
		}
	}
	return nil
}

// write makes a new file of the content.
func (v *volumeStore) write(name string, content io.Reader) (made bool, err error) {
	file, err := v.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return false, err
	}
	_, err = io.Copy(file, content)
	if err == nil {
		err = file.Sync()
	}
	return true, errors.Join(err, file.Close())
}

// publish gives the written file its name, unless that name exists.
func (v *volumeStore) publish(name string) error {
	err := v.root.Link(partial(name), name)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS) {
		// The file system has no hard links. Put has seen that the name is free, and no other run uses it.
		err = v.root.Rename(partial(name), name)
	} else if err == nil {
		err = v.root.Remove(partial(name))
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	if err == nil {
		err = v.sync(path.Dir(name))
	}
	if err != nil { // it may not last
		err = errors.Join(err, v.remove(name))
	}
	return err
}
