package backup

import (
	"fmt"
	"time"
)

// Of returns the item that a choice means among those of a folder, which are in the order of Items. Where the latest was begun after
// now it refuses: a clock was wrong, or is, or somebody made up the name so that it stays the latest; an earlier one in its place would
// be a surprise. Its error is permanent where time does not fix it.
func (c Choice) Of(items []Item, now time.Time) (Item, error) {
	unverified := 0
	for _, item := range items {
		switch {
		case !item.Complete || !c.Before.IsZero() && !item.Time.Before(c.Before):
		case (item.Verified || c.AllowUnverified) && item.Time.After(now.Add(clockSkew)):
			return Item{}, fmt.Errorf("the latest backup %s is dated after the present time %s: a clock was or is wrong, or somebody forged its name. "+
				"If you trust it, set item to its name; otherwise set before", item.Name, now.UTC().Format(time.RFC3339))
		case item.Verified || c.AllowUnverified:
			return item, nil
		default:
			unverified++
		}
	}
	begun := ""
	if !c.Before.IsZero() {
		begun = " that was begun before " + c.Before.UTC().Format(time.RFC3339)
	}
	if unverified > 0 {
		return Item{}, Permanent(fmt.Errorf("there is no verified backup%s, only %d unverified ones: set allowUnverified to use one of them",
			begun, unverified))
	}
	return Item{}, Permanent(fmt.Errorf("there is no backup%s: check store, namespace and name", begun))
}
