package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// observe sees that each time that is due has one run, and each attempt one item.
func (w *walk) observe() {
	w.t.Helper()
	b := w.seen
	if b == nil || b.UID != w.owner || b.Status.Run == nil {
		return
	}
	run := b.Status.Run
	attempt := fmt.Sprintf("%s: attempt %d at %s", b.UID, run.Attempt, run.ScheduledTime.UTC().Format(time.RFC3339))
	if item, known := w.started[attempt]; known && item != run.Item {
		w.t.Errorf("%s is %s, and was %s", attempt, run.Item, item)
	} else if !known {
		w.note("%s is %s", attempt, run.Item)
	}
	w.started[attempt] = run.Item
	if run.ScheduledTime.Time.Before(w.latest) {
		w.t.Errorf("%s, after %s", attempt, w.latest)
	}
	w.latest = run.ScheduledTime.Time
}

// checkTheStore sees that what looks like a backup is one, and that all else will be deleted.
func (w *walk) checkTheStore() {
	w.t.Helper()
	b := w.backup()
	names := w.names()
	toDelete := leftoverItems(b.Status.Run)
	for name := range names {
		partial := strings.HasPrefix(name, ".")
		item, ours := backup.ItemOf(backup.Etcd, strings.TrimSuffix(strings.TrimPrefix(name, "."), ".partial"))
		switch {
		case w.retained.forged[item]:
		case !ours:
			w.t.Errorf("%s is none of ours", name)
		case !partial && name == backup.ManifestName(backup.Etcd, item):
			w.fetch(item)
		case !partial && names[backup.ManifestName(backup.Etcd, item)] || slices.Contains(toDelete, item):
		case w.owners[item] != w.owner || w.astray[item]:
			// Of an object or a pod that is gone no one knows the attempt. Retention finds what is in the folder.
			if w.retention != nil && !partial {
				w.t.Errorf("%s is left, although it is old", name)
			}
		default:
			w.t.Errorf("%s is left, and no attempt will delete it", name)
		}
	}
	last := b.Status.LastVerified
	if last == nil || !names[backup.ManifestName(backup.Etcd, last.Name)] || !names[backup.VerifiedName(backup.Etcd, last.Name)] {
		w.t.Errorf("the last that was verified is not there: %+v", last)
	}
}

// names of the files in the store's folder.
func (w *walk) names() map[string]bool {
	w.t.Helper()
	entries, err := os.ReadDir(filepath.Join(w.volume, backup.Folder(key.Namespace, key.Name)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatal(err)
	}
	names := map[string]bool{}
	for _, e := range entries {
		names[e.Name()] = true
	}
	return names
}

// checkManifests sees that there never is a manifest without its data.
func (w *walk) checkManifests() {
	w.t.Helper()
	names := w.names()
	for name := range names {
		item, _ := backup.ItemOf(backup.Etcd, name)
		switch {
		case name != backup.ManifestName(backup.Etcd, item) || w.retained.forged[item]:
		case !w.fetched[item]:
			w.fetched[item] = true
			w.fetch(item)
		case !names[backup.DataName(backup.Etcd, item)]:
			w.t.Errorf("the data of %s is gone", item)
		}
	}
}

// fetch an item as a restore does.
func (w *walk) fetch(item string) {
	w.t.Helper()
	text, err := json.Marshal(backup.Task{Kind: backup.Etcd, Folder: backup.Folder(key.Namespace, key.Name), Item: item})
	if err != nil {
		w.t.Fatal(err)
	}
	asked := []string{backup.CommandFetch, "--task", string(text)}
	if message, code := w.run(w.environment(w.store, ""), asked); code != 0 {
		w.t.Errorf("%s cannot be fetched: %s", item, message)
	}
}
