package backup

import (
	"errors"
	"iter"
	"slices"
	"testing"
	"time"
)

// listing gives these names, and then an error if there is one.
func listing(last error, names ...string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		for _, name := range names {
			if !yield(Object{Name: name, Size: int64(len(name)), Modified: at(1, 'd').Time}, nil) {
				return
			}
		}
		if last != nil {
			yield(Object{}, last)
		}
	}
}

func TestItems(t *testing.T) {
	const first, second = "20260101T000000Z-00000001", "20260102T030405Z-00000002"
	written, size := at(1, 'd').Time, int64(len(first+".etcd.data"))
	for name, c := range map[string]struct {
		names []string
		want  []Item
	}{
		"nothing":                 {nil, nil},
		"data alone is no backup": {[]string{first + ".etcd.data"}, []Item{{Name: first, DataSize: size}}},
		"a manifest makes a backup": {[]string{first + ".etcd.json", first + ".etcd.data"},
			[]Item{{Name: first, Complete: true, DataSize: size, Written: written}}},
		"a mark verifies it": {[]string{first + ".etcd.verified", first + ".etcd.json"},
			[]Item{{Name: first, Complete: true, Verified: true, DataSize: -1, Written: written}}},
		"a mark alone is no backup": {[]string{first + ".etcd.verified"}, []Item{{Name: first, DataSize: -1}}},
		"the newest is first": {[]string{first + ".etcd.json", second + ".etcd.json"},
			[]Item{{Name: second, Complete: true, DataSize: -1, Written: written}, {Name: first, Complete: true, DataSize: -1, Written: written}}},
		"another kind":    {[]string{first + ".redis.json"}, nil},
		"somebody else's": {[]string{"readme.txt", first, "x.etcd.json", "20261301T000000Z-00000001.etcd.json", first + ".etcd.json.old"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range c.want {
				c.want[i].Time, _ = ItemTime(c.want[i].Name)
			}
			if got, err := Items(Etcd, listing(nil, c.names...)); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

// A listing that breaks off would have a backup look like none, and be deleted.
func TestABrokenListingIsNone(t *testing.T) {
	broken := errors.New("broken off")
	if got, err := Items(Etcd, listing(broken, "20260101T000000Z-00000001.etcd.data")); !errors.Is(err, broken) || got != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// at is an item that was started on that day of January 2026: c is complete, v verified, and anything else has no manifest.
func at(day int, state byte) Item {
	started := time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC)
	return Item{Name: ItemName(started, "uid", started, 1), Time: started, Complete: state == 'c' || state == 'v', Verified: state == 'v'}
}

// history has an item for each letter, of one day each, the newest first as from Items.
func history(states string) (items []Item) {
	for i := range states {
		items = append(items, at(i+1, states[i]))
	}
	slices.Reverse(items)
	return items
}
