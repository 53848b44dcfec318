package backup

import (
	"fmt"
	"time"
)

// clockSkew is how far the clocks of a cluster may be apart.
const clockSkew = time.Hour

// Of returns the item that a choice means among those of a folder, which are in the order of Items. One that was begun later than now
// is none of them: its clock was wrong, or somebody made up its name, and it would stay the latest for as long as that is ahead. No
// other attempt would find another one: its error is permanent.
func (c Choice) Of(items []Item, now time.Time) (Item, error) {
	unverified, later := 0, 0
	for _, item := range items {
		switch {
		case !item.Complete || !c.Before.IsZero() && !item.Time.Before(c.Before):
		case item.Time.After(now.Add(clockSkew)):
			later++
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
		return Item{}, Permanent(fmt.Errorf("there is no verified backup%s, but %d that no server was started from: "+
			"set allowUnverified to take one of them", begun, unverified))
	}
	if later > 0 {
		return Item{}, Permanent(fmt.Errorf("there is no backup%s, but %d from after now, %s: name one as item if you trust it",
			begun, later, now.UTC().Format(time.RFC3339)))
	}
	return Item{}, Permanent(fmt.Errorf("there is no backup%s: check store, namespace and name", begun))
}
