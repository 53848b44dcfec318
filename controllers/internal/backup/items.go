package backup

import (
	"iter"
	"slices"
	"strings"
	"time"
)

// Item is what the names of a folder's objects tell of one backup.
type Item struct {
	Name string
	Time time.Time
	// Complete: it has a manifest. What has none is no backup: it is being written, or what a killed run has left.
	Complete bool
	// Verified: a server was started from it.
	Verified bool
}

// Items reads the listing of a folder, the newest item first. Objects of another kind and somebody else's are left out.
func Items(kind ServerKind, objects iter.Seq2[string, error]) ([]Item, error) {
	found := map[string]*Item{}
	for object, err := range objects {
		if err != nil {
			return nil, err
		}
		name, ours := ItemOf(kind, object)
		if !ours {
			continue
		}
		if found[name] == nil {
			begun, _ := ItemTime(name) // which ItemOf has read
			found[name] = &Item{Name: name, Time: begun}
		}
		switch object {
		case ManifestName(kind, name):
			found[name].Complete = true
		case VerifiedName(kind, name):
			found[name].Verified = true
		}
	}
	items := make([]Item, 0, len(found))
	for _, item := range found {
		item.Verified = item.Verified && item.Complete
		items = append(items, *item)
	}
	slices.SortFunc(items, func(a, b Item) int { return strings.Compare(b.Name, a.Name) })
	return items, nil
}
