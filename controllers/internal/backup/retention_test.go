package backup

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

func keepLast(n int32) *commonv1.BackupRetention {
	return &commonv1.BackupRetention{KeepLast: ptr.To(n)}
}

func keepDays(n int) *commonv1.BackupRetention {
	return &commonv1.BackupRetention{KeepFor: &metav1.Duration{Duration: time.Duration(n) * 24 * time.Hour}}
}

func keepEither(n int32, days int) *commonv1.BackupRetention {
	return &commonv1.BackupRetention{KeepLast: ptr.To(n), KeepFor: keepDays(days).KeepFor}
}

// entries has one for each word, of one day each from January 1st on, the newest first. A word starts with v for a verified item, c for
// one that is not, d for data alone, and '.' for nothing. What follows:
//
//	~ of another source   ! its manifest cannot be read   0 its data is not there   ? no one has read its manifest
//	- a twentieth of the data of the others   _ a Redis' without keys   A to M the ID of its cluster   N to Z its data set
func entries(text string) (list []Entry) {
	for i, word := range strings.Fields(text) {
		if word == "." {
			continue
		}
		item := at(i+1, word[0])
		m := Manifest{Item: item.Name, SourceUID: "source", Size: 100, RawSize: 1000, Started: item.Time, Written: item.Time}
		item.DataSize, item.Written = m.Size, item.Time
		e := Entry{Item: item, Unread: strings.Contains(word, "?")}
		for _, flag := range word[1:] {
			switch {
			case flag == '~':
				m.SourceUID = "other"
			case flag == '0':
				e.DataSize = -1
			case flag == '-':
				m.RawSize /= 20
			case flag == '_':
				m.Kind = Redis
			case unicode.IsUpper(flag) && flag <= 'M':
				m.ClusterID = string(flag)
			case unicode.IsUpper(flag):
				m.Dataset = string(flag)
			}
		}
		if e.Complete && !e.Unread && !strings.Contains(word, "!") {
			e.Manifest = &m
		}
		list = append(list, e)
	}
	slices.Reverse(list)
	return list
}

// midnight starts that day of January 2026, as an item of it.
func midnight(day int) time.Time { return at(day, 'v').Time }

// lastRun is the one that has made the last of the items.
func lastRun(list []Entry, rule *commonv1.BackupRetention, verify bool) Run {
	run := Run{Rule: rule, Verify: verify}
	if len(list) > 0 {
		run.Item, run.Clocks = list[0].Name, Clocks{Started: list[0].Time, Now: list[0].Time}
	}
	return run
}

// days of the items.
func days(items []Item) string {
	var list []string
	for _, item := range items {
		list = append(list, fmt.Sprint(item.Time.Day()))
	}
	return strings.Join(list, " ")
}

func TestRetain(t *testing.T) {
	for name, c := range map[string]struct {
		rule    *commonv1.BackupRetention
		verify  bool
		history string // see entries; the last one is of the run
		want    string // the days that go
		held    string // a part of why
	}{
		"no rule":                              {nil, true, "d d d d d v v v", "", ""},
		"the first":                            {keepLast(1), true, "v", "", ""},
		"the last of all":                      {keepLast(2), false, "c c c c", "1 2", ""},
		"fewer than are kept":                  {keepLast(5), false, "c c c", "", ""},
		"the last verified ones":               {keepLast(2), true, "v v v v", "1 2", ""},
		"unverified ones do not count":         {keepLast(2), true, "v v c v", "1 3", ""},
		"older unverified ones go":             {keepLast(1), true, "c c v", "1 2", ""},
		"no backup was ever verified":          {keepLast(2), false, "c c c", "1", ""},
		"verified ones count without verify":   {keepLast(2), false, "v v c c", "1", ""},
		"the last verified one stays":          {keepLast(1), false, "v c c c", "2 3", ""},
		"younger ones stay":                    {keepDays(2), false, "c c c c c", "1 2", ""},
		"a backup goes to the day":             {keepDays(1), false, "c c c", "1", ""},
		"the last verified one is old":         {keepDays(1), false, "v v c c", "1", ""},
		"either keeps":                         {keepEither(1, 2), true, "v v v v", "1", ""},
		"either keeps unverified ones":         {keepEither(1, 2), true, "v c c v", "1", ""},
		"what a killed run left is old":        {keepLast(9), true, "d d . v", "1", ""},
		"data alone does not count":            {keepLast(1), true, "v d v", "1", ""},
		"data alone is not kept by being last": {keepLast(1), true, "d . . d v", "1", ""},

		"forged names push out nothing":                  {keepLast(2), true, "v v v!0 v!0 v!0 v", "1", ""},
		"forged manifests without data push out nothing": {keepLast(2), true, "v v v0 v0 v0 v", "1", ""},
		"what is forged is left to a human":              {keepDays(1), true, "v!0 v0 v v", "", ""},
		"a manifest that cannot be read":                 {keepLast(2), true, "v v! v v v", "1 3", ""},
		"what was made must be as it was written":        {keepLast(1), true, "v v v0", "", "does not list it as it was written"},

		"no more than it made and one":        {keepLast(1), true, "v v v v v v v v v v v v v v", "1 2", ""},
		"no more than it made and one by age": {keepDays(1), true, "v v v v v v v v v v v v v v", "1 2", ""},
		"leftovers go in addition to backups": {keepDays(1), true, "d d v v v v v", "1 2 3 4", ""},

		"backups of another source are left alone":   {keepLast(1), true, "v~ v~ v", "", ""},
		"backups of another source do not count":     {keepLast(2), true, "v v v~ v~ v~ v", "1", ""},
		"two sources in turn":                        {keepLast(1), true, "v~ v v~ v v~ v", "2 4", ""},
		"unread manifests count by the listing":      {keepLast(3), true, "v v v v? v? v", "1 2", ""},
		"a backup whose manifest was not read stays": {keepLast(1), true, "v? v? v? v", "", ""},

		"a restore starts a history":             {keepLast(1), true, "vA vA vB vB", "1 3", ""},
		"each history's last one stays":          {keepLast(1), true, "vA vB vC vD", "", ""},
		"each history's last verified one stays": {keepLast(1), true, "vA vA cA vB", "1", ""},
		"data was lost":                          {keepLast(1), true, "v v vN vN", "", "data was lost (DatasetLost)"},
		"a set without keys has lost no data":    {keepLast(1), true, "v v_ vN vN", "1 3", ""},
		"data has shrunk":                        {keepLast(1), true, "v v v- v-", "", "50 bytes of data"},
		"data has shrunk and grown again":        {keepLast(1), true, "v v v- v v", "", "50 bytes of data"},
		"leftovers go while data may be lost":    {keepLast(1), true, "d v v v-", "1", "50 bytes of data"},
		"what is not verified may be anything":   {keepLast(1), true, "v v c- v", "1 2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			list := entries(c.history)
			got := Retain(list, lastRun(list, c.rule, c.verify))
			if days(got.Delete) != c.want || !strings.Contains(got.Held, c.held) || (got.Held != "") != (c.held != "") {
				t.Errorf("%q goes, and not %q; held: %q", days(got.Delete), c.want, got.Held)
			}
		})
	}
}

// A human says up to which item all is as it should be.
func TestAllowed(t *testing.T) {
	for name, c := range map[string]struct {
		history string
		allowed string
		want    string
		held    bool
	}{
		"up to the loss":                   {"v v vN vN", at(3, 'v').Name, "1 3", false},
		"up to a later one":                {"v v vN vN", at(4, 'v').Name, "1 3", false},
		"up to one before it":              {"v v vN vN", at(2, 'v').Name, "", true},
		"up to the first of two losses":    {"v v vN vN vP", at(3, 'v').Name, "", true},
		"when that item is gone":           {". v . vN vN vN", at(3, 'v').Name, "4 5", false},
		"up to where it has shrunk":        {"v v v- v- v-", at(3, 'v').Name, "1 2", false},
		"up to an item that is to come":    {"v v vN vN", at(9, 'v').Name, "", true},
		"up to what is no name of an item": {"v v vN vN", "2026", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			list := entries(c.history)
			run := lastRun(list, keepLast(1), true)
			run.Allowed = c.allowed
			if got := Retain(list, run); days(got.Delete) != c.want || (got.Held != "") != c.held {
				t.Errorf("%q goes, and not %q; held: %q", days(got.Delete), c.want, got.Held)
			}
		})
	}
}

// While any two clocks are an hour apart nothing is deleted, not even what is no backup.
func TestNothingIsDeletedWhileClocksDisagree(t *testing.T) {
	for name, c := range map[string]struct {
		operator, started, written, stored, now time.Duration // later than they should be
		newest                                  int           // day of another item
		held                                    string
	}{
		"all agree":      {},
		"within an hour": {operator: -time.Hour, stored: time.Hour},
		"the operator's clock is ahead": {operator: 2 * time.Hour,
			held: "the operator's clock and the clock of the pod's node differ by 2h0m0s"},
		"it is behind": {operator: -2 * time.Hour, held: "the operator's clock"},
		"the node's is ahead": {started: 700 * time.Hour, written: 700 * time.Hour, now: 700 * time.Hour,
			held: "the operator's clock"},
		"all are ahead but the store's":       {stored: -700 * time.Hour, held: "the store's clock"},
		"the store's is ahead":                {stored: 2 * time.Hour, held: "the store's clock"},
		"the dump takes hours":                {written: 5 * time.Hour, stored: 5 * time.Hour, now: 8 * time.Hour},
		"the node's was put back":             {written: 5 * time.Hour, stored: 5 * time.Hour, held: "the clock of the pod's node"},
		"an item is later":                    {newest: 9, held: "is dated after the present time"},
		"by no more than an hour: put it off": {newest: 5},
	} {
		t.Run(name, func(t *testing.T) {
			list := entries("d . v v v")
			made := &list[0]
			made.Manifest.Started, made.Manifest.Written = made.Time.Add(c.started), made.Time.Add(c.written)
			made.Written = made.Time.Add(c.stored)
			run := lastRun(list, keepLast(1), true)
			run.Clocks = Clocks{Started: made.Time.Add(c.operator), Now: made.Time.Add(c.now)}
			if c.newest > 0 {
				other := entries(strings.Repeat(". ", c.newest-1) + "v")
				if c.newest == 5 {
					other[0].Time, other[0].Name = midnight(5).Add(50*time.Minute), "20260105T005000Z-00000000"
				}
				list = append(other, list...)
			}
			got := Retain(list, run)
			if !strings.Contains(got.Held, c.held) || (got.Held != "") != (c.held != "") || (len(got.Delete) == 0) != (c.held != "") {
				t.Errorf("%q goes; held: %q", days(got.Delete), got.Held)
			}
		})
	}
}

// Whatever the rule, the newest verified one stays, and the last one of each history.
func TestTheNewestVerifiedStays(t *testing.T) {
	words := []string{"cA", "vA", "d", "vB", "v~"}
	for n := range 5 * 5 * 5 * 5 * 5 {
		var history []string
		for left := n; len(history) < 5; left /= 5 {
			history = append(history, words[left%5])
		}
		for _, verify := range []bool{true, false} {
			list := entries(strings.Join(history, " ") + " cB")
			gone := Retain(list, lastRun(list, keepEither(1, 0), verify)).Delete
			for _, word := range []string{"vA", "vB", "v~", "cB"} {
				last := 6 - slices.Index(reversed(history, "cB"), word)
				if slices.ContainsFunc(gone, func(i Item) bool { return i.Time.Day() == last && last <= 6 }) {
					t.Errorf("of %q, %d goes", history, last)
				}
			}
		}
	}
}

// reversed has the last word first.
func reversed(words []string, last string) []string {
	all := append(slices.Clone(words), last)
	slices.Reverse(all)
	return all
}
