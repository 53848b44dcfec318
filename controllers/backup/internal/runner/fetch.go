package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/backup/internal/scratch"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// fetch reads an item back from the store to the scratch volume, as it was before it was compressed, and its manifest. It refuses
// what differs from the manifest, and what the server that is to load it cannot load.
func (e Environment) fetch(ctx context.Context, t task) (backup.Result, error) {
	item, err := t.find(ctx, e.Clock.Now())
	if err != nil {
		return backup.Result{}, err
	}
	m, err := t.readManifest(ctx, item)
	if err != nil {
		return backup.Result{}, err
	}
	if err := m.LoadableBy(t.MaxVersion); err != nil {
		return backup.Result{}, err
	}
	warning := ""
	if t.Choose != nil { // for a restore
		if err := t.Choose.RefuseSource(m); err != nil {
			return backup.Result{}, err
		}
		warning = m.WarnOfSource()
	}
	verified, err := t.exists(ctx, t.verified(item))
	if err != nil {
		return backup.Result{}, err
	}
	if t.Choose != nil && !verified && !t.Choose.AllowUnverified {
		return backup.Result{}, backup.Permanent(fmt.Errorf("the backup %s was never verified: set allowUnverified to use it", item))
	}
	room := e.room(t)
	if err := room.Check(0, m.RawSize); err != nil { // before the store sends anything
		return backup.Result{}, t.noRoom(err)
	}
	data := e.scratchFile(backup.DataFile)
	if err := writeFile(room, data, func(file *scratch.File) error { return t.readData(ctx, m, file) }); err != nil {
		return backup.Result{}, err
	}
	var requiresLogin bool
	if t.Choose != nil { // for a restore: it stops servers, and one that is foreign is of no use to them. Else verify looks at it
		if requiresLogin, err = t.check(data, m); err != nil {
			return backup.Result{}, err
		}
	}
	err = writeFile(room, e.scratchFile(backup.ManifestFile), func(file *scratch.File) error { return json.NewEncoder(file).Encode(m) })
	found := m.StatusItem(verified)
	return backup.Result{Item: &found, RawSize: m.RawSize, RequiresLogin: requiresLogin, Warning: warning,
		Keys: m.Keys, Expires: m.Expires}, err
}

// find returns the item that the task names, or chooses one of the folder's.
func (t task) find(ctx context.Context, now time.Time) (string, error) {
	if t.Item != "" {
		_, err := backup.ItemTime(t.Item)
		return t.Item, backup.Permanent(err)
	}
	if t.Choose == nil {
		return "", backup.Permanent(errors.New("the task neither names an item nor chooses one"))
	}
	items, err := backup.Items(t.Kind, t.store.List(ctx, t.Folder))
	if err != nil {
		return "", err
	}
	chosen, err := t.Choose.Of(items, now, func(item backup.Item) (string, error) { return t.sourceOf(ctx, item.Name) })
	if err != nil {
		return "", fmt.Errorf("%s: %w", t.Folder, err)
	}
	return chosen.Name, nil
}

// sourceOf reads the UID of what an item is a backup of; it is empty where there is no manifest that names one.
func (t task) sourceOf(ctx context.Context, item string) (string, error) {
	text, err := t.manifestText(ctx, item)
	if errors.Is(err, fs.ErrNotExist) || backup.IsPermanent(err) {
		return "", nil
	}
	return backup.SourceUID(text), err
}

// readManifest of an item. An item without one is no backup, and none will come of it.
func (t task) readManifest(ctx context.Context, item string) (backup.Manifest, error) {
	text, err := t.manifestText(ctx, item)
	if errors.Is(err, fs.ErrNotExist) {
		return backup.Manifest{}, backup.Permanent(fmt.Errorf("there is no backup %s/%s: it has no manifest in the store", t.Folder, item))
	}
	if err != nil {
		return backup.Manifest{}, err
	}
	return backup.ReadManifest(text, t.Kind, item)
}

// manifestText is what is stored as the manifest of an item.
func (t task) manifestText(ctx context.Context, item string) ([]byte, error) {
	content, _, err := t.store.Get(ctx, t.manifest(item))
	if err != nil {
		return nil, err
	}
	defer func() { _ = content.Close() }()
	text, err := io.ReadAll(io.LimitReader(content, backup.MaxManifest+1))
	if err == nil && len(text) > backup.MaxManifest {
		err = backup.Permanent(fmt.Errorf("the manifest of %s has more than %d bytes", item, backup.MaxManifest))
	}
	return text, err
}

// readData writes an item's data to w, and compares sizes and sums. It writes no more than the manifest says: a scratch volume may be
// the node's own disk.
func (t task) readData(ctx context.Context, m backup.Manifest, w io.Writer) error {
	name := t.data(m.Item)
	content, size, err := t.store.Get(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return t.permanentUnlessVerifying(fmt.Errorf("%s is not in the store, though its manifest is", name))
	}
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	if size != m.Size {
		return t.permanentUnlessVerifying(fmt.Errorf("%s has %d bytes in the store, and its manifest says %d", name, size, m.Size))
	}
	failing := &failingReader{from: untilDone{ctx, content}}
	stored, raw := newSum(), newSum()
	input := io.TeeReader(failing, stored)
	err = unpack(io.MultiWriter(w, raw), input, m)
	if err == nil {
		_, err = io.Copy(io.Discard, io.LimitReader(input, m.Size)) // what follows the compressed data
	}
	switch {
	case failing.err != nil: // the store's fault: another attempt may succeed
		return failing.err
	case errors.Is(err, errManifestMismatch):
		return t.permanentUnlessVerifying(fmt.Errorf("%s is corrupt: %w", name, err))
	case err != nil:
		return err
	case stored.size != m.Size || stored.hex() != m.SHA256:
		return t.permanentUnlessVerifying(fmt.Errorf("%s is corrupt: its SHA-256 is %s, and its manifest says %s",
			name, stored.hex(), m.SHA256))
	case raw.size != m.RawSize || raw.hex() != m.RawSHA256:
		return t.permanentUnlessVerifying(fmt.Errorf("%s is corrupt: decompressed, its SHA-256 is %s, and its manifest says %s",
			name, raw.hex(), m.RawSHA256))
	}
	return nil
}

// check refuses what was fetched and is no backup, for good. A disk that cannot be read says nothing about it. It returns whether the
// data asks for a login.
func (t task) check(file string, m backup.Manifest) (requiresLogin bool, err error) {
	err = t.server.Check(file, m)
	if err == nil && t.server.RequiresLogin != nil {
		requiresLogin, err = t.server.RequiresLogin(file)
	}
	switch _, unreadable := errors.AsType[*fs.PathError](err); {
	case err == nil:
		return requiresLogin, nil
	case unreadable:
		return false, fmt.Errorf("reading what was fetched: %w", err)
	}
	return false, backup.Permanent(fmt.Errorf("%s is not a backup: %w", t.data(m.Item), err))
}

// permanentUnlessVerifying marks what is wrong with an item's data: a restore meets it again. A run that has just written it
// writes another.
func (t task) permanentUnlessVerifying(err error) error {
	if t.Verify {
		return err
	}
	return backup.Permanent(err)
}

// noRoom says of a restore what to do if the data exceeds its limit, which is the same for each attempt. A full disk is no such limit: it
// may get room, and another node may have it.
func (t task) noRoom(err error) error {
	if _, isLimit := errors.AsType[*scratch.FullError](err); !isLimit {
		return err
	}
	if t.Choose != nil && t.Kind == backup.Redis {
		err = fmt.Errorf("%w: raise spec.storage.size, or if there is no storage limits.memory in spec.resources", err)
	}
	return t.permanentUnlessVerifying(err)
}

// errManifestMismatch says that data is not what its manifest describes.
var errManifestMismatch = errors.New("it is not what its manifest describes")

// unpack decompresses. What cannot be decompressed, or becomes longer than the manifest says, is errManifestMismatch.
func unpack(w io.Writer, stored io.Reader, m backup.Manifest) error {
	content, err := decompressed(stored, m.Compression)
	if err != nil {
		return fmt.Errorf("%w: %w", errManifestMismatch, err)
	}
	reader := &failingReader{from: io.LimitReader(content, m.RawSize+1)}
	n, err := io.Copy(w, reader)
	switch {
	case reader.err != nil:
		return fmt.Errorf("%w: %w", errManifestMismatch, reader.err)
	case err != nil:
		return fmt.Errorf("writing to the scratch volume: %w", err)
	case n > m.RawSize:
		return fmt.Errorf("%w: it has more than %d bytes", errManifestMismatch, m.RawSize)
	}
	return nil
}

// failingReader remembers why reading has failed.
type failingReader struct {
	from io.Reader
	err  error
}

func (f *failingReader) Read(b []byte) (int, error) {
	n, err := f.from.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}
