package backup

import (
	"fmt"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/untrusted"
)

// Of returns the item that a choice means among those of a folder, which are in the order of Items. sourceOf reads the UID of what an
// item is a backup of; it is empty if the manifest names none. Only one source counts: the one that is asked for, or else the one of the
// latest backup, verified or not. An earlier source had other data.
//
// Where the latest was started after now it refuses: a clock was or is wrong, or somebody forged the name so that it stays the latest;
// an earlier one in its place would be a surprise. Its error is permanent where time does not fix it.
func (c Choice) Of(items []Item, now time.Time, sourceOf func(Item) (string, error)) (Item, error) {
	unverified, others, source := 0, 0, c.Source
	for _, item := range items {
		if !item.Complete || !c.Before.IsZero() && !item.Time.Before(c.Before) {
			continue
		}
		uid, err := sourceOf(item)
		switch {
		case err != nil:
			return Item{}, err
		case uid == "" && c.Source == "": // of an unknown source: a restore warns of it
		case uid != "" && source == "":
			source = uid
		case uid != source:
			others++
			continue
		}
		switch {
		case (item.Verified || c.AllowUnverified) && item.Time.After(now.Add(clockSkew)):
			return Item{}, fmt.Errorf("the latest backup %s is dated after the present time %s: a clock was or is wrong, "+
				"or somebody forged its name. If you trust it, set item to its name; otherwise set before", item.Name, now.UTC().Format(time.RFC3339))
		case item.Verified || c.AllowUnverified:
			return item, nil
		default:
			unverified++
		}
	}
	return Item{}, Permanent(c.nothingFound(unverified, others, source))
}

// nothingFound says why no item is chosen, and what to do.
func (c Choice) nothingFound(unverified, others int, source string) error {
	which, elsewhere := "", ""
	if !c.Before.IsZero() {
		which = " that was started before " + c.Before.UTC().Format(time.RFC3339)
	}
	if source != "" && (others > 0 || c.Source != "") {
		which += fmt.Sprintf(" of source %s", untrusted.Sanitize(source))
	}
	if others > 0 {
		elsewhere = fmt.Sprintf("; %d backups are of other sources: set source to use one of them", others)
	}
	if unverified > 0 {
		return fmt.Errorf("there is no verified backup%s, only %d unverified ones: set allowUnverified to use one of them%s",
			which, unverified, elsewhere)
	}
	return fmt.Errorf("there is no backup%s: check store, namespace and name%s", which, elsewhere)
}

// RefuseSource returns an error if a backup is of another source than the one that is asked for. Its error is permanent.
func (c Choice) RefuseSource(m Manifest) error {
	if c.Source == "" || m.SourceUID == c.Source {
		return nil
	}
	return Permanent(fmt.Errorf("the backup %s is of %s, and source asks for UID %s: correct source, or choose another item",
		m.Item, m.describeSource(), c.Source))
}

// WarnOfSource says that nothing shows what a backup is a backup of; it is empty if the manifest names a source.
func (m Manifest) WarnOfSource() string {
	if m.SourceUID != "" {
		return ""
	}
	return fmt.Sprintf("the manifest of the backup %s names no source: nothing shows whose data it is", m.Item)
}

// describeSource says what was backed up, in words of its manifest, which another party may have written.
func (m Manifest) describeSource() string {
	switch {
	case m.SourceUID == "":
		return "an unknown source"
	case m.Source.Name == "":
		return "UID " + untrusted.Sanitize(m.SourceUID)
	}
	return untrusted.Sanitize(fmt.Sprintf("%s %s/%s with UID %s", m.Source.Kind, m.Source.Namespace, m.Source.Name, m.SourceUID))
}
