package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// maxReplacedSources is of how many replaced sources the last backup is kept, the newest ones.
const maxReplacedSources = 3

// sourceHistory tells which source each item was made of. A source may have been replaced by another one of its name, which may be
// empty: its backups must not push out the last one with data.
type sourceHistory struct {
	task
	items  []backup.Item // all of the folder, the newest first
	source string        // UID of what was backed up now
	known  map[string]string
}

// lastOfReplacedSources returns those of the items that are the last of a replaced source: the last one, and the last verified one.
// Where a manifest cannot be read now, its item is one of them: the error tells why.
func (h *sourceHistory) lastOfReplacedSources(ctx context.Context, items []backup.Item) (lasts map[string]bool, err error) {
	lasts, sources := map[string]bool{}, map[string]bool{}
	for _, item := range slices.Backward(items) {
		uid, failed := h.uidOf(ctx, item)
		switch {
		case !item.Complete:
		case failed != nil:
			lasts[item.Name], err = true, errors.Join(err, failed)
		case uid == "" || uid == h.source:
		case !h.isLastOfItsSource(ctx, item, uid) || !sources[uid] && len(sources) == maxReplacedSources:
		default:
			lasts[item.Name], sources[uid] = true, true
		}
	}
	return lasts, err
}

// isLastOfItsSource reports whether no later item is known to be of that source, or no later verified one.
func (h *sourceHistory) isLastOfItsSource(ctx context.Context, item backup.Item, uid string) bool {
	var next, nextVerified backup.Item
	for _, later := range h.items {
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
		found, err := h.uidOf(ctx, later)
		return err == nil && found == uid
	}
	return !isOf(next) || item.Verified && !isOf(nextVerified)
}

// uidOf returns the UID of what an item was made of; empty if its manifest is not there, or is none.
func (h *sourceHistory) uidOf(ctx context.Context, item backup.Item) (string, error) {
	if !item.Complete {
		return "", nil
	}
	if uid, ok := h.known[item.Name]; ok {
		return uid, nil
	}
	text, err := h.manifestText(ctx, item.Name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("reading the manifest of %s: %w", item.Name, err)
	}
	h.known[item.Name] = backup.SourceUID(text)
	return h.known[item.Name], nil
}
