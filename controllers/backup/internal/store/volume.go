package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"syscall"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// volumeStore is a folder of a volume. Nothing leads out of it, neither a name nor a link that another program has put there.
type volumeStore struct{ root *os.Root }

// What is made on a volume is readable by its group, which Kubernetes sets to a pod's fsGroup.
const (
	folderMode = 0o770
	fileMode   = 0o640
)

// openVolume opens a folder of the volume that is mounted at dir, and creates it if it is missing.
func openVolume(dir, folder string) (*volumeStore, error) {
	volume, err := os.OpenRoot(dir)
	if err != nil {
		return nil, wrapError("opening the volume", err)
	}
	if folder == "" {
		return &volumeStore{volume}, nil
	}
	defer func() { _ = volume.Close() }()
	if err := checkName(folder); err != nil {
		return nil, err
	}
	if err := volume.MkdirAll(folder, folderMode); err != nil && !errors.Is(err, syscall.EROFS) { // a restore only reads it
		return nil, wrapError("making "+folder+" on the volume", err)
	}
	root, err := volume.OpenRoot(folder)
	if err != nil {
		return nil, wrapError("opening "+folder+" on the volume", err)
	}
	return &volumeStore{root}, nil
}

// errNoFile is what is in an object's place and is none.
var errNoFile = errors.New("it is not a regular file")

func (v *volumeStore) Get(_ context.Context, name string) (io.ReadCloser, int64, error) {
	if err := checkName(name); err != nil {
		return nil, 0, err
	}
	// A link is none of our objects, even one that stays on the volume: os.Root would follow it.
	named, err := v.root.Lstat(name)
	if err == nil && !named.Mode().IsRegular() {
		err = errNoFile
	}
	if err != nil {
		return nil, 0, wrapError("reading "+name, err)
	}
	// Another program may replace it now. Without O_NONBLOCK, opening a named pipe waits until a writer opens it.
	file, err := v.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, wrapError("reading "+name, err)
	}
	info, err := file.Stat()
	if err == nil && (!info.Mode().IsRegular() || !os.SameFile(info, named)) {
		err = errNoFile
	}
	if err != nil {
		return nil, 0, errors.Join(wrapError("reading "+name, err), file.Close())
	}
	return file, info.Size(), nil
}

func (v *volumeStore) Stat(_ context.Context, name string) (int64, error) {
	if err := checkName(name); err != nil {
		return 0, err
	}
	info, err := v.root.Lstat(name)
	if err != nil {
		return 0, wrapError("looking for "+name, err)
	}
	return info.Size(), nil
}

// pageSize is how many names are read at once.
const pageSize = 512

func (v *volumeStore) List(ctx context.Context, folder string) iter.Seq2[backup.Object, error] {
	return bounded(func(yield func(backup.Object, error) bool) {
		if err := checkName(folder); err != nil {
			yield(backup.Object{}, err)
			return
		}
		opened, err := v.root.Open(folder)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(backup.Object{}, wrapError("listing "+folder, err))
			return
		}
		defer func() { _ = opened.Close() }()
		for {
			entries, err := opened.ReadDir(pageSize)
			for _, entry := range entries {
				object, err := v.listed(folder, entry)
				if !yield(object, wrapError("listing "+folder, err)) || err != nil {
					return
				}
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err = errors.Join(err, ctx.Err()); err != nil {
				yield(backup.Object{}, wrapError("listing "+folder, err))
				return
			}
		}
	}, folder)
}

// listed is an object as a listing has it, without a name if it is none, or is gone by now.
func (v *volumeStore) listed(folder string, entry fs.DirEntry) (backup.Object, error) {
	name := entry.Name()
	if !entry.Type().IsRegular() || name == partial(name) {
		return backup.Object{}, nil
	}
	info, err := v.root.Lstat(path.Join(folder, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return backup.Object{}, nil
	case err != nil:
		return backup.Object{}, err
	}
	return backup.Object{Name: name, Size: info.Size(), Modified: info.ModTime()}, nil
}

func (v *volumeStore) Delete(_ context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	return v.remove(name)
}

func (v *volumeStore) Abort(_ context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	return v.remove(partial(name))
}

func (v *volumeStore) remove(name string) error {
	err := v.root.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = v.sync(path.Dir(name))
	}
	return wrapError("deleting "+name, err)
}

// sync has a folder's names survive a crash of the machine.
func (v *volumeStore) sync(folder string) error {
	opened, err := v.root.Open(folder)
	if err != nil {
		return err
	}
	err = opened.Sync()
	if errors.Is(err, syscall.EINVAL) { // a file system that has nothing to sync there
		err = nil
	}
	return errors.Join(err, opened.Close())
}
