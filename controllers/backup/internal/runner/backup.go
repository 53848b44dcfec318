package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"k8s.io/utils/clock"

	"github.com/mainstay-operator/mainstay-operator/controllers/backup/internal/scratch"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// spoolFile on the scratch volume gets the data as fast as the server sends it. A store may be slow, and a server closes the connection of
// a client that reads slowly.
const spoolFile = "dump"

// backup writes a new item: data first, manifest last. Of an item that it does not finish it leaves nothing, if the store lets it.
func (e Environment) backup(ctx context.Context, t task) (backup.Result, error) {
	var result backup.Result
	if t.Source == nil {
		return result, backup.Permanent(errors.New("the task names no source"))
	}
	if err := t.refuseExisting(ctx); err != nil {
		return result, err
	}
	result.Warning = warningOf(t.deleteLeftovers(ctx, false))
	m := backup.Manifest{Format: backup.Format, Kind: t.Kind, Item: t.Item, Time: t.Time.UTC(), Compression: string(t.Compression),
		SourceUID: t.Source.UID, Source: t.Source.Origin, Dataset: t.Source.Dataset, Started: e.Clock.Now().UTC()}
	spool := e.scratchFile(spoolFile)
	defer func() { _ = os.Remove(spool) }() // what is fetched needs its space
	if err := e.spool(ctx, t, spool, &m); err != nil {
		result.RawSize = scratch.SizeWithoutRoom(err)
		return result, fmt.Errorf("reading the data of the source: %w", err)
	}
	if err := t.write(ctx, spool, &m, e.Clock); err != nil {
		return result, errors.Join(err, t.discard(ctx))
	}
	result.Warning = warningOf(t.deleteLeftovers(ctx, true))
	item := m.StatusItem(false)
	result.Item, result.RawSize = &item, m.RawSize
	result.NotCompared, result.MembersDiffer = m.Compared.Found()
	return result, nil
}

// refuseExisting keeps an item from being written twice. Another attempt has another name.
func (t task) refuseExisting(ctx context.Context) error {
	for _, name := range t.objects(t.Item) {
		switch _, err := t.store.Stat(ctx, name); {
		case err == nil:
			return fmt.Errorf("%s is in the store already, and a backup is never overwritten", name)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	return nil
}

// spool reads the source into a file, and notes in the manifest what it is.
func (e Environment) spool(ctx context.Context, t task, file string, m *backup.Manifest) error {
	return writeFile(e.room(t), file, func(file *scratch.File) error {
		meta, err := t.server.Dump(ctx, *t.Source, e.Credentials, file)
		if err != nil {
			return err
		}
		m.Revision, m.ClusterID, m.ServerVersion, m.Compared = meta.Revision, meta.ClusterID, meta.ServerVersion, meta.Compared
		m.ReplicationID, m.Offset = meta.ReplicationID, meta.Offset
		m.RDBVersion, m.Keys, m.Expires = meta.RDBVersion, meta.Keys, meta.Expires
		return nil
	})
}

// write puts the spooled data and then its manifest into the store.
func (t task) write(ctx context.Context, spool string, m *backup.Manifest, clock clock.PassiveClock) error {
	file, err := scratch.Open(spool, math.MaxInt64)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	raw := newSum()
	content, stored := compressed(io.TeeReader(file, raw), t.Compression)
	err = t.store.Put(ctx, t.data(t.Item), content)
	if err := errors.Join(err, content.Close()); err != nil {
		return err
	}
	m.Size, m.SHA256, m.RawSize, m.RawSHA256 = stored.size, stored.hex(), raw.size, raw.hex()
	m.Written = clock.Now().UTC()
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return t.store.Put(ctx, t.manifest(t.Item), bytes.NewReader(text))
}

// discard removes an item that is not finished, also when the pod was asked to stop. The manifest goes first: an answer may be lost, and
// then it is there.
func (t task) discard(ctx context.Context) error {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer done()
	return t.delete(ctx, t.Item)
}

// delete removes an item, first what makes it one.
func (t task) delete(ctx context.Context, item string) error {
	for _, name := range t.objects(item) {
		if err := t.store.Delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// abort removes what a killed attempt has left of objects that it had not finished.
func (t task) abort(ctx context.Context, item string) error {
	for _, name := range t.objects(item) {
		if err := t.store.Abort(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// deleteLeftovers removes what earlier attempts have left, unless it is verified. A whole backup goes only when another
// one is written.
func (t task) deleteLeftovers(ctx context.Context, written bool) error {
	var failed []error
	for _, item := range t.Leftovers {
		if _, err := backup.ItemTime(item); err != nil || item == t.Item {
			continue
		}
		aborted := t.abort(ctx, item)
		keep, err := t.exists(ctx, t.verified(item))
		if err == nil && !keep && !written {
			keep, err = t.exists(ctx, t.manifest(item))
		}
		if err == nil && !keep {
			err = t.delete(ctx, item)
		}
		err = errors.Join(aborted, err)
		if err != nil {
			failed = append(failed, fmt.Errorf("removing what an earlier attempt has left: %w", err))
		}
	}
	return errors.Join(failed...)
}

func (t task) exists(ctx context.Context, name string) (bool, error) {
	_, err := t.store.Stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// warningOf words an error that does not spoil the backup; empty for none.
func warningOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
