package runner

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// finish marks the item as verified if that was asked for, deletes what retention does not keep, and lists what is left. From the
// mark on the backup is good, whatever fails: that is a warning, or the whole backup would be repeated.
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
	l := listing{task: t, items: items, known: map[string]read{t.Item: {manifest: m}}}
	left, held, err := l.retain(ctx, backup.Clocks{Started: t.Time, Now: e.Clock.Now()})
	result.Held, result.Warning = held, warningOf(err)
	for _, item := range left {
		if !l.describe(ctx, item, &result) {
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

// describe adds an item to the result, and reports whether there may be room for another one. One that is no backup, or cannot be read,
// is left out.
func (l *listing) describe(ctx context.Context, item backup.Item, result *backup.Result) bool {
	m, sound := l.isSound(ctx, item)
	if !sound {
		return ctx.Err() == nil
	}
	more := append(result.Items[:len(result.Items):len(result.Items)], m.StatusItem(item.Verified))
	text, err := json.Marshal(backup.Result{Item: result.Item, Items: more, Warning: sanitize(result.Warning), Held: result.Held})
	if err != nil || len(text) > backup.MaxResult {
		return false
	}
	result.Items = more
	return len(result.Items) < backup.MaxItems
}
