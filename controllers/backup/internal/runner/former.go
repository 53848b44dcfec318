package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// maxFormer is of how many former sources the last backup is kept, the newest ones.
const maxFormer = 3

// former are sources of the same name as the one that was backed up now, which are gone. What took the place of one may be empty, and
// its backups must not push out the last one with data.
type former struct {
	task
	items  []backup.Item // all of the folder, the newest first
	source string        // UID of what was backed up now
	known  map[string]string
}

// lasts returns those of the items, the oldest first, that are the last of a former source: the last one, and the last verified one.
// Where a manifest cannot be read now, its item is one of them: the error tells why.
func (f *former) lasts(ctx context.Context, items []backup.Item) (lasts map[string]bool, err error) {
	lasts, sources := map[string]bool{}, map[string]bool{}
	for _, item := range slices.Backward(items) {
		uid, failed := f.uidOf(ctx, item)
		switch {
		case !item.Complete:
		case failed != nil:
			lasts[item.Name], err = true, errors.Join(err, failed)
		case uid == "" || uid == f.source:
		case !f.isLast(ctx, item, uid) || !sources[uid] && len(sources) == maxFormer:
		default:
			lasts[item.Name], sources[uid] = true, true
		}
	}
	return lasts, err
}

// isLast reports whether no later item is known to be of that source, or no later verified one.
func (f *former) isLast(ctx context.Context, item backup.Item, uid string) bool {
	var next, nextVerified backup.Item
	for _, later := range f.items {
		if later.Name == item.Name {
			break
		}
		if later.Complete {
			next = later
		}
		if later.Verified {
			nextVerified = later
		}
	}
	isOf := func(later backup.Item) bool {
		found, err := f.uidOf(ctx, later)
		return err == nil && found == uid
	}
	return !isOf(next) || item.Verified && !isOf(nextVerified)
}

// uidOf returns the UID of what an item was made of; empty if its manifest is not there, or is none.
func (f *former) uidOf(ctx context.Context, item backup.Item) (string, error) {
	if !item.Complete {
		return "", nil
	}
	if uid, ok := f.known[item.Name]; ok {
		return uid, nil
	}
	text, err := f.manifestText(ctx, item.Name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("reading the manifest of %s: %w", item.Name, err)
	}
	f.known[item.Name] = backup.SourceUID(text)
	return f.known[item.Name], nil
}
