package backup

import (
	"fmt"
	"time"
)

// Of returns the item that a choice means among those of a folder, which are in the order of Items. No other attempt would find
// another one: its error is permanent.
func (c Choice) Of(items []Item) (Item, error) {
	unverified := 0
	for _, item := range items {
		switch {
		case !item.Complete || !c.Before.IsZero() && !item.Time.Before(c.Before):
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
	return Item{}, Permanent(fmt.Errorf("there is no backup%s: check store, namespace and name", begun))
}
