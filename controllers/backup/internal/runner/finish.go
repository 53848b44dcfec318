package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// finish marks the item as verified if it is, deletes what retention does not keep, and lists what is left. From the mark on the
// backup is good, whatever fails: that is a warning, or the whole backup would be made again.
func (e Environment) finish(ctx context.Context, t task) (backup.Result, error) {
	var result backup.Result
	m, err := t.readManifest(ctx, t.Item)
	if err != nil {
		return result, err
	}
	if t.Verify {
		if err := e.markVerified(ctx, t); err != nil {
			return result, err
		}
	}
	item := m.StatusItem(t.Verify)
	result.Item = &item
	items, err := backup.Items(t.Kind, t.store.List(ctx, t.Folder))
	if err != nil {
		result.Warning = told(err)
		return result, nil
	}
	left, err := t.retain(ctx, items, m.SourceUID, e.clock.Now(), &result)
	result.Warning = told(err)
	for _, item := range left {
		if !t.describe(ctx, item, &result) {
			break
		}
	}
	return result, nil
}

// markVerified writes the verified mark if verify has left its verdict. A mark that is there already is from a try whose answer was
// lost.
func (e Environment) markVerified(ctx context.Context, t task) error {
	verdict, err := readSmall(e.file(backup.VerdictFile))
	if err != nil {
		return fmt.Errorf("reading the verdict: %w", err)
	}
	if string(verdict) != t.Item {
		return fmt.Errorf("the verdict is of %q and not of %s", verdict, t.Item)
	}
	err = t.store.Put(ctx, t.verified(t.Item), strings.NewReader(""))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// retain deletes what retention does not keep, and returns what is left. source is the UID of what was backed up now.
func (t task) retain(
	ctx context.Context, items []backup.Item, source string, now time.Time, result *backup.Result,
) (left []backup.Item, err error) {
	if t.Time.Before(now) {
		now = t.Time
	}
	gone := map[string]bool{}
	for _, item := range backup.Expired(items, t.Retention, t.Verify, now) {
		var spared bool
		if spared, err = t.spares(ctx, items, item, source); err != nil {
			err = fmt.Errorf("reading what retention does not keep: %w", err)
			break
		}
		if spared || item.Name == t.Item {
			continue
		}
		gone[item.Name] = true // even if it fails half-way: its manifest goes first
		if err = t.delete(ctx, item.Name); err != nil {
			err = fmt.Errorf("deleting what retention does not keep: %w", err)
			break
		}
		result.Deleted++
	}
	for _, item := range items {
		if item.Complete && !gone[item.Name] {
			left = append(left, item)
		}
	}
	return left, err
}

// spares reports whether an item is the last of a former source: one of the same name, which is gone. What took its place may be
// empty, and its backups must not push out the last one with data.
func (t task) spares(ctx context.Context, items []backup.Item, item backup.Item, source string) (bool, error) {
	counts := func(item backup.Item) bool { return item.Complete && (item.Verified || !t.Verify) }
	if !counts(item) {
		return false, nil
	}
	own, err := t.sourceOf(ctx, item)
	if err != nil || own == "" || own == source {
		return false, err
	}
	var next backup.Item
	for _, newer := range items { // from the newest on
		if newer.Name == item.Name {
			break
		}
		if counts(newer) {
			next = newer
		}
	}
	following, err := t.sourceOf(ctx, next)
	return following != own, err
}

// sourceOf returns the UID of what an item was made of. It is empty if the item's manifest cannot be read, and never will be.
func (t task) sourceOf(ctx context.Context, item backup.Item) (string, error) {
	m, err := t.readManifest(ctx, item.Name)
	if backup.IsPermanent(err) {
		return "", nil
	}
	return m.SourceUID, err
}

// maxItems is how many a status has.
const maxItems = 20

// describe adds an item to the result, and reports whether there may be room for another one. One whose manifest cannot be read is
// left out.
func (t task) describe(ctx context.Context, item backup.Item, result *backup.Result) bool {
	m, err := t.readManifest(ctx, item.Name)
	if err != nil {
		return ctx.Err() == nil
	}
	more := append(result.Items[:len(result.Items):len(result.Items)], m.StatusItem(item.Verified))
	text, err := json.Marshal(backup.Result{Item: result.Item, Items: more, Warning: sanitize(result.Warning), Deleted: result.Deleted})
	if err != nil || len(text) > backup.MaxResult {
		return false
	}
	result.Items = more
	return len(result.Items) < maxItems
}
