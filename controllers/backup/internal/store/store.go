// Package store keeps the objects of backups: in a bucket of any server that speaks S3, or in a folder of a volume. It streams, and
// needs the same memory for objects of any size.
package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// MaxObjects bounds the listing of a folder. A backup each minute, of three objects, fills it in a month.
const MaxObjects = 100_000

// Store keeps objects. Names are paths beneath what the spec names, such as "namespace/name/item.etcd.data". An error is an *Error
// if it is the store's own; errors of a content's reader are returned as they are.
type Store interface {
	// Put writes a whole object or none. It refuses a name that exists: then errors.Is(err, fs.ErrExist). What it has written of an
	// object that fails is removed, even if the context has ended.
	Put(ctx context.Context, name string, content io.Reader) error
	// Get opens an object for reading, and returns its size in bytes. Where there is none, errors.Is(err, fs.ErrNotExist).
	Get(ctx context.Context, name string) (content io.ReadCloser, size int64, err error)
	// Stat returns an object's size in bytes. Where there is none, errors.Is(err, fs.ErrNotExist).
	Stat(ctx context.Context, name string) (size int64, err error)
	// List gives a folder's objects, named within that folder, in no particular order, and at last an error if there was one, such as
	// more than MaxObjects names. A folder that does not exist has none.
	List(ctx context.Context, folder string) iter.Seq2[backup.Object, error]
	// Delete removes an object. One that does not exist is no error.
	Delete(ctx context.Context, name string) error
	// Abort removes what a Put of that name has left that was killed. Nothing else may be writing it.
	Abort(ctx context.Context, name string) error
}

// Places are where a pod has a store's volume, and the files of its Secrets.
type Places struct{ Volume, Secret, CA string }

// InPod are the places that the operator gives to a runner's pod.
var InPod = Places{Volume: backup.StoreDir, Secret: backup.StoreSecretDir, CA: backup.StoreCADir}

// Open opens a store. It asks an S3 server nothing yet.
func Open(spec commonv1.BackupStore, places Places) (Store, error) {
	switch {
	case spec.S3 != nil && spec.Volume != nil:
	case spec.S3 != nil:
		return openS3(*spec.S3, places, progressTimeout)
	case spec.Volume != nil:
		return openVolume(places.Volume, spec.Volume.Path)
	}
	return nil, backup.Permanent(errors.New("store is either s3 or volume: set exactly one of them"))
}

// checkName refuses what would lead out of the store.
func checkName(name string) error {
	if !fs.ValidPath(name) || path.Base(name) == "." {
		return backup.Permanent(fmt.Errorf("%q cannot name an object of a store", name))
	}
	return nil
}

// bounded ends a listing with an error after MaxObjects objects. It leaves out those without a name.
func bounded(objects iter.Seq2[backup.Object, error], folder string) iter.Seq2[backup.Object, error] {
	return func(yield func(backup.Object, error) bool) {
		count := 0
		for object, err := range objects {
			if count++; count > MaxObjects {
				yield(backup.Object{}, backup.Permanent(fmt.Errorf("%s has more than %d objects: move some of them away", folder, MaxObjects)))
				return
			}
			if object.Name == "" && err == nil { // counted, and none of ours
				continue
			}
			if !yield(object, err) || err != nil {
				return
			}
		}
	}
}
