package backup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

const (
	// abandonedAfter is for how long an item without manifest may still be written: a run's attempts start within startingDeadline, at
	// most a day, and the last of them takes its time.
	abandonedAfter = 48 * time.Hour
	// MaxDeleted is how many backups one run deletes at most: as many as it has made, and one, so that it catches up after runs that
	// deleted nothing. Whatever has gone wrong, somebody has the time of many runs to see it.
	MaxDeleted = 2
	// shrunk is to what part of its size data must shrink to be taken for lost: a tenth.
	shrunk = 10
)

// Entry is what is known of one item of a folder.
type Entry struct {
	Item
	// Manifest of the item. It is nil if it is no manifest, or could not be read.
	Manifest *Manifest
	// Unread reports that its manifest was not read, because the folder has too many.
	Unread bool
}

// isSound reports whether its manifest can be read and the listing has its data.
func (e Entry) isSound() bool {
	return e.Complete && e.Manifest != nil && e.Manifest.Size == e.DataSize
}

// Run is what retention must know of the run that it belongs to.
type Run struct {
	// Item that the run has made.
	Item string
	Rule *commonv1.BackupRetention
	// Verify: only verified items count for keepLast.
	Verify bool
	// Allowed is the item up to which a human has accepted what has become of the data; empty if there is none.
	Allowed string
	Clocks  Clocks
}

// Verdict is what retention decides.
type Verdict struct {
	// Delete has the items to delete, in that order.
	Delete []Item
	// Held says why no backup is deleted, although retention may say so; empty if that is not so.
	Held string
}

// Retain decides which items of a folder the run deletes. Entries are in the order of Items. All that it decides is by what it has made
// sure of:
//
//   - an item counts, and may be deleted, only if its manifest can be read, is of the source that was backed up now, and its data has
//     the size that the manifest says. All others are left alone: they cannot push out an item, and none is deleted;
//   - nothing is deleted while clocks disagree, and no backup while the data may have been lost;
//   - an item is kept if it is the newest of all, or the newest verified one; one of the newest keepLast; no older than keepFor; or
//     the last one, or the last verified one, of a history that has ended;
//   - of what is left, the oldest are deleted, at most MaxDeleted.
func Retain(entries []Entry, run Run) Verdict {
	if run.Rule == nil {
		return Verdict{}
	}
	own := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == run.Item })
	if own < 0 || !entries[own].isSound() {
		return Verdict{Held: "the backup " + run.Item + " was just written, and the store does not list it as it was written"}
	}
	r := retention{Run: run, made: *entries[own].Manifest, now: run.Clocks.earlier()}
	for _, e := range entries {
		if r.counts(e) {
			r.ours = append(r.ours, e)
		}
	}
	if why := cmp.Or(run.Clocks.disagreement(r.made, entries[own].Written), r.datedAhead()); why != "" {
		return Verdict{Held: why}
	}
	verdict := Verdict{Delete: r.abandoned(entries), Held: r.lost()}
	if verdict.Held == "" {
		verdict.Delete = append(verdict.Delete, r.expired()...)
	}
	return verdict
}

// retention decides for one run.
type retention struct {
	Run
	// made is the manifest of the item that the run has made.
	made Manifest
	now  time.Time
	// ours are the items that count, the newest first.
	ours []Entry
}

// counts reports whether an item is a backup of this source. Where its manifest was not read, the listing must do.
func (r retention) counts(e Entry) bool {
	if e.Unread {
		return e.Complete && e.DataSize > 0
	}
	return e.isSound() && e.Manifest.SourceUID == r.made.SourceUID
}

// datedAhead says that an item is later than the present time.
func (r retention) datedAhead() string {
	if newest := r.ours[0]; newest.Time.After(r.now.Add(clockSkew)) {
		return fmt.Sprintf("the backup %s is dated after the present time %s: a clock was or is wrong. "+
			"If its date is wrong, delete it from the store", newest.Name, r.now.UTC().Format(time.RFC3339))
	}
	return ""
}

// abandoned are the items that are no backups and never will be, the oldest first.
func (r retention) abandoned(entries []Entry) (items []Item) {
	for _, e := range slices.Backward(entries) {
		if !e.Complete && r.now.Sub(e.Time) > abandonedAfter {
			items = append(items, e.Item)
		}
	}
	return items
}

// lost says that the data may have been lost since a human last looked: a data set was, or an item has shrunk.
func (r retention) lost() string {
	allowed := r.Allowed
	if _, err := ItemTime(allowed); err != nil || allowed > r.Item {
		allowed = ""
	}
	var next *Manifest // of the item after e
	for _, e := range r.ours {
		switch {
		case e.Unread || r.Verify && !e.Verified:
			continue
		case next == nil || e.Name < allowed:
		case next.Dataset != e.Manifest.Dataset && !e.Manifest.hasNoKeys():
			return fmt.Sprintf("data was lost (%s) after the backup %s: its source started over with none or with older data, and the backup %s "+
				"has what came later. Restore if that data is needed. %s", commonv1.ReasonDatasetLost, e.Name, next.Item, allowBy(next.Item))
		case next.RawSize < e.Manifest.RawSize/shrunk:
			return fmt.Sprintf("the backup %s has %d bytes of data, and %s before it had %d: data may have been lost. Restore if it is "+
				"needed. %s", next.Item, next.RawSize, e.Name, e.Manifest.RawSize, allowBy(next.Item))
		}
		next = e.Manifest
	}
	return ""
}

func allowBy(item string) string {
	return fmt.Sprintf("If all is as it should be, annotate this object with %s=%s", commonv1.AllowRetention, item)
}

// expired are the backups to delete, the oldest first.
func (r retention) expired() (items []Item) {
	var counted int32
	var seenVerified bool
	for i, e := range r.ours {
		newest := i == 0 || e.Verified && !seenVerified
		seenVerified = seenVerified || e.Verified
		age := r.now.Sub(e.Time)
		counts := age >= 0 && (e.Verified || !r.Verify)
		if counts {
			counted++
		}
		switch {
		case newest, age < 0, e.Name == r.Item, e.Unread, r.isLastOfItsHistory(i):
		case counts && r.Rule.KeepLast != nil && counted <= *r.Rule.KeepLast:
		case r.Rule.KeepFor != nil && age <= r.Rule.KeepFor.Duration:
		default:
			items = append(items, e.Item)
		}
	}
	slices.Reverse(items)
	return items[:min(len(items), MaxDeleted)]
}

// isLastOfItsHistory reports whether no later item is known to be of the same history, or no later verified one.
func (r retention) isLastOfItsHistory(i int) bool {
	e := r.ours[i]
	last, lastVerified := true, e.Verified
	for _, later := range r.ours[:i] {
		if later.Unread || later.Manifest.history() != e.Manifest.history() {
			continue
		}
		last, lastVerified = false, lastVerified && !later.Verified
	}
	return last || lastVerified
}

// hasNoKeys reports whether it is of a Redis that had none to lose.
func (m Manifest) hasNoKeys() bool { return m.Kind == Redis && m.Keys == 0 }

// history identifies data that changes from one backup to the next. A restore starts another history, and so does a loss.
func (m Manifest) history() string { return strings.Join([]string{m.ClusterID, m.Dataset}, "/") }
