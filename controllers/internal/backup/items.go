package backup

import (
	"iter"
	"slices"
	"strings"
	"time"
)

// Object is one of a store's objects, as its listing has it.
type Object struct {
	Name string
	// Size in bytes.
	Size int64
	// Modified is when it was written, by the store's clock.
	Modified time.Time
}

// Item is what the listing of a folder says of one backup.
type Item struct {
	Name string
	Time time.Time
	// Complete: it has a manifest. What has none is no backup: it is being written, or what a killed run has left.
	Complete bool
	// Verified: a server was started from it.
	Verified bool
	// DataSize of its data, in bytes; -1 if there is no data.
	DataSize int64
	// Written is when its manifest was written, by the store's clock.
	Written time.Time
}

// Items reads the listing of a folder, the newest item first. Objects of another kind or of another program are left out.
func Items(server ServerType, objects iter.Seq2[Object, error]) ([]Item, error) {
	found := map[string]*Item{}
	for object, err := range objects {
		if err != nil {
			return nil, err
		}
		name, ours := ItemOf(server, object.Name)
		if !ours {
			continue
		}
		if found[name] == nil {
			started, _ := ItemTime(name) // which ItemOf has read
			found[name] = &Item{Name: name, Time: started, DataSize: -1}
		}
		switch object.Name {
		case DataName(server, name):
			found[name].DataSize = object.Size
		case ManifestName(server, name):
			found[name].Complete, found[name].Written = true, object.Modified
		case VerifiedName(server, name):
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
