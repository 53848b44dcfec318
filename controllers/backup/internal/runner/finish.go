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

// finish marks the item as verified if that was asked for, deletes what retention does not keep, and lists what is left. From the
// mark on the backup is good, whatever fails: that is a warning, or the whole backup would be made again.
func (e Environment) finish(ctx context.Context, t task) (backup.Result, error) {
	var result backup.Result
	m, err := t.readManifest(ctx, t.Item)
	if err != nil {
		return result, err
	}
	if t.Verify {
		if err := t.markVerified(ctx); err != nil {
			return result, err
		}
	}
	item := m.StatusItem(t.Verify)
	result.Item = &item
	items, err := backup.Items(t.Kind, t.store.List(ctx, t.Folder))
	if err != nil {
		result.Warning = warningOf(err)
		return result, nil
	}
	left, err := t.retain(ctx, items, m.SourceUID, e.Clock.Now())
	result.Warning = warningOf(err)
	for _, item := range left {
		if !t.describe(ctx, item, &result) {
			break
		}
	}
	return result, nil
}

// markVerified writes the verified mark. The verdict is the exit code of verify, an init container without which the kubelet does not
// start this one. It is in no file: the server's image, which verify runs in, could put anything in its place. A mark that is there
// already is from a try whose answer was lost.
func (t task) markVerified(ctx context.Context) error {
	err := t.store.Put(ctx, t.verified(t.Item), strings.NewReader(""))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// retain deletes what retention does not keep, and returns what is left. source is the UID of what was backed up now.
func (t task) retain(ctx context.Context, items []backup.Item, source string, now time.Time) (left []backup.Item, err error) {
	if t.Time.Before(now) {
		now = t.Time
	}
	gone := map[string]bool{}
	expired := backup.Expired(items, t.Retention, t.Verify, now)
	h := sourceHistory{task: t, items: items, source: source, known: map[string]string{}}
	spared, err := h.lastOfReplacedSources(ctx, expired)
	for _, item := range expired {
		if spared[item.Name] || item.Name == t.Item {
			continue
		}
		gone[item.Name] = true // even if it fails half-way: its manifest goes first
		if failed := t.delete(ctx, item.Name); failed != nil {
			err = errors.Join(err, fmt.Errorf("deleting what retention does not keep: %w", failed))
			break
		}
	}
	for _, item := range items {
		if item.Complete && !gone[item.Name] {
			left = append(left, item)
		}
	}
	return left, err
}

// describe adds an item to the result, and reports whether there may be room for another one. One whose manifest cannot be read is
// left out.
func (t task) describe(ctx context.Context, item backup.Item, result *backup.Result) bool {
	m, err := t.readManifest(ctx, item.Name)
	if err != nil {
		return ctx.Err() == nil
	}
	more := append(result.Items[:len(result.Items):len(result.Items)], m.StatusItem(item.Verified))
	text, err := json.Marshal(backup.Result{Item: result.Item, Items: more, Warning: sanitize(result.Warning)})
	if err != nil || len(text) > backup.MaxResult {
		return false
	}
	result.Items = more
	return len(result.Items) < backup.MaxItems
}
