package source

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"

	"github.com/mainstay-operator/mainstay-operator/controllers/backup/internal/trailer"
)

var errNoProgress = fmt.Errorf("nothing has arrived for %s", progressTimeout)

// snapshot copies the member's data into the file.
func (e *etcdMember) snapshot(ctx context.Context, file File) (Meta, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	stalled := time.AfterFunc(progressTimeout, func() { end(errNoProgress) })
	defer stalled.Stop()
	answer, err := e.client.SnapshotWithVersion(ctx)
	if err != nil {
		return Meta{}, fmt.Errorf("asking for a snapshot: %w", causeOf(ctx, serverError(err)))
	}
	defer func() { _ = answer.Snapshot.Close() }()
	progressing := readerFunc(func(p []byte) (int, error) {
		n, err := answer.Snapshot.Read(p)
		stalled.Reset(progressTimeout)
		if err != nil && !errors.Is(err, io.EOF) {
			err = causeOf(ctx, serverError(err))
		}
		return n, err
	})
	if err := copyChecked(file, progressing); err != nil {
		return Meta{}, fmt.Errorf("reading the snapshot: %w", err)
	}
	revision, err := revisionIn(file.Name())
	if err != nil {
		return Meta{}, fmt.Errorf("reading the snapshot: %w", err)
	}
	return e.metaOf(answer, revision)
}

type readerFunc func(p []byte) (int, error)

func (r readerFunc) Read(p []byte) (int, error) { return r(p) }

// causeOf is why the context has ended, or else the error.
func causeOf(ctx context.Context, err error) error {
	if ended := context.Cause(ctx); ended != nil {
		return ended
	}
	return err
}

// copyChecked copies a snapshot, whose last 32 bytes are the SHA-256 of all before, as etcd's server appends it.
func copyChecked(to io.Writer, from io.Reader) error {
	sum := sha256.New()
	split := trailer.New(sum, sha256.Size)
	if _, err := io.CopyBuffer(io.MultiWriter(to, split), from, make([]byte, readBuffer)); err != nil {
		return err
	}
	if string(sum.Sum(nil)) != string(split.Last()) {
		return errors.New("it was broken off, or damaged on the way: its SHA-256 differs")
	}
	return nil
}

// revisionSize is how long a revision is in etcd's data at least: eight bytes of its own, "_", and eight of its part.
const revisionSize = 17

// revisionIn returns the revision of the keys in a snapshot, as etcd reckons it when it starts from it (mvcc/kvstore.go, restore):
// that of the last change, or the last that was compacted if that one dropped it.
func revisionIn(path string) (revision int64, err error) {
	err = readPages(path, func(tx *bbolt.Tx) error {
		keys, meta := tx.Bucket([]byte("key")), tx.Bucket([]byte("meta"))
		if keys == nil || meta == nil {
			return errors.New("it has no keys of etcd")
		}
		revision = 1 // without any key
		last, _ := keys.Cursor().Last()
		for _, key := range [][]byte{last, meta.Get([]byte("finishedCompactRev")), meta.Get([]byte("scheduledCompactRev"))} {
			if len(key) >= revisionSize {
				revision = max(revision, int64(binary.BigEndian.Uint64(key))) //nolint:gosec // a negative one does not count
			}
		}
		return nil
	})
	return revision, err
}

// EtcdRequiresLogin reports whether a server that starts from a snapshot serves only who has logged in (server/storage/schema/auth.go).
func EtcdRequiresLogin(path string) (required bool, err error) {
	err = readPages(path, func(tx *bbolt.Tx) error {
		if auth := tx.Bucket([]byte("auth")); auth != nil {
			required = bytes.Equal(auth.Get([]byte("authEnabled")), []byte{1})
		}
		return nil
	})
	return required, err
}

// readPages reads from a snapshot, which comes from a server: pages that lead nowhere are no reason to end.
func readPages(path string, read func(*bbolt.Tx) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if cause := recover(); cause != nil {
			err = errors.New("its pages are damaged")
		}
	}()
	data, err := bbolt.Open(path, 0o400, &bbolt.Options{ReadOnly: true, Timeout: replyTimeout})
	if err != nil {
		return fmt.Errorf("it is not data of etcd: %w", err)
	}
	defer func() { _ = data.Close() }()
	return data.View(read)
}
