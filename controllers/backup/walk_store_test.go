package backup

import (
	"context"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/mainstay-operator/mainstay-operator/controllers/backup/internal/store"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once/oncetest"
)

// turnedStore has each call of a runner wait for its turn.
type turnedStore struct {
	store.Store
	k *walk
	r *runningPod
}

func (t *turnedStore) Put(ctx context.Context, name string, content io.Reader) error {
	item, _ := backup.ItemOf(backup.Etcd, filepath.Base(name))
	process := t.r.process
	if !process.turn() {
		return oncetest.ErrKilled
	}
	if writer, known := t.k.writers[name]; known && writer != t.r.uid {
		t.k.t.Errorf("pods %s and %s write %s", writer, t.r.uid, name)
	}
	if item != t.r.item {
		t.k.t.Errorf("pod %s writes %s, which is not of its item %s", t.r.uid, name, t.r.item)
	}
	t.k.writers[name] = t.r.uid
	t.k.noteMade(t.r, item)
	half := &dyingReader{process, content, false}
	err := t.Store.Put(ctx, name, half)
	if half.died { // the process is gone, and what it has written is there
		file := filepath.Join(t.k.volume, filepath.Dir(name), "."+filepath.Base(name)+".partial")
		_ = os.WriteFile(file, []byte("half"), 0o600)
	}
	if !process.turn() {
		return oncetest.ErrKilled
	}
	return err
}

// dyingReader is read while its process may be killed.
type dyingReader struct {
	*process
	io.Reader
	died bool
}

func (d *dyingReader) Read(b []byte) (int, error) {
	if !d.turn() {
		d.died = true
		return 0, oncetest.ErrKilled
	}
	return d.Reader.Read(b)
}

func (t *turnedStore) Get(ctx context.Context, name string) (content io.ReadCloser, size int64, err error) {
	err = t.r.call(func() (err error) { content, size, err = t.Store.Get(ctx, name); return err })
	return content, size, err
}

func (t *turnedStore) Stat(ctx context.Context, name string) (size int64, err error) {
	err = t.r.call(func() (err error) { size, err = t.Store.Stat(ctx, name); return err })
	return size, err
}

func (t *turnedStore) List(ctx context.Context, folder string) iter.Seq2[backup.Object, error] {
	if err := t.r.call(func() error { return nil }); err != nil {
		return func(yield func(backup.Object, error) bool) { yield(backup.Object{}, err) }
	}
	return t.Store.List(ctx, folder)
}

func (t *turnedStore) Delete(ctx context.Context, name string) error {
	return t.r.call(func() error {
		t.k.checkDeletion(t.r, filepath.Base(name))
		return t.Store.Delete(ctx, name)
	})
}

func (t *turnedStore) Abort(ctx context.Context, name string) error {
	return t.r.call(func() error { return t.Store.Abort(ctx, name) })
}
