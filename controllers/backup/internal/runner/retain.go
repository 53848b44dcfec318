package runner

import (
	"context"
	"errors"
	"fmt"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// Each manifest that retention reads is one request to the store. Of a folder with many backups it reads the newest and the oldest.
const (
	newestRead = 900
	oldestRead = 100
)

// listing is what a run knows of the items in its folder. It reads each manifest once.
type listing struct {
	task
	items []backup.Item // the newest first
	known map[string]read
}

// read is what came of reading a manifest.
type read struct {
	manifest backup.Manifest
	err      error
}

// manifest of an item.
func (l *listing) manifest(ctx context.Context, item string) (backup.Manifest, error) {
	if known, ok := l.known[item]; ok {
		return known.manifest, known.err
	}
	m, err := l.readManifest(ctx, item)
	l.known[item] = read{m, err}
	return m, err
}

// entries are what retention decides by. After a manifest that cannot be read now, no more are read: those items do not count, and none
// of them is deleted. The error says why.
func (l *listing) entries(ctx context.Context) (entries []backup.Entry, err error) {
	var broken error
	for i, item := range l.items {
		e := backup.Entry{Item: item, Unread: i >= newestRead && i < len(l.items)-oldestRead}
		if item.Complete && !e.Unread && broken == nil {
			m, err := l.manifest(ctx, item.Name)
			switch {
			case err == nil:
				e.Manifest = &m
			case !backup.IsPermanent(err):
				broken = fmt.Errorf("reading the manifest of %s: %w", item.Name, err)
			}
		}
		entries = append(entries, e)
	}
	return entries, broken
}

// retain deletes what retention does not keep, and returns what is left. held says why no backup was deleted.
func (l *listing) retain(ctx context.Context, clocks backup.Clocks) (left []backup.Item, held string, err error) {
	if l.Retention == nil {
		return l.items, "", nil
	}
	entries, err := l.entries(ctx)
	verdict := backup.Retain(entries, backup.Run{Item: l.Item, Rule: l.Retention, Verify: l.Verify, Allowed: l.Allowed, Clocks: clocks})
	gone := map[string]bool{}
	for _, item := range verdict.Delete {
		gone[item.Name] = true // even if it fails half-way: its manifest goes first
		if failed := l.delete(ctx, item.Name); failed != nil {
			err = errors.Join(err, fmt.Errorf("deleting what retention does not keep: %w", failed))
			break
		}
	}
	for _, item := range l.items {
		if !gone[item.Name] {
			left = append(left, item)
		}
	}
	return left, verdict.Held, err
}

// isSound reports whether the item is a backup whose data is there.
func (l *listing) isSound(ctx context.Context, item backup.Item) (backup.Manifest, bool) {
	if !item.Complete {
		return backup.Manifest{}, false
	}
	m, err := l.manifest(ctx, item.Name)
	return m, err == nil && item.DataSize == m.Size
}
