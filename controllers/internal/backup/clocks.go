package backup

import (
	"fmt"
	"time"
)

// clockSkew is how far the clocks of a cluster may be apart.
const clockSkew = time.Hour

// Clocks are the times of a run by two clocks. Which of them is right cannot be known, only that they differ.
type Clocks struct {
	// Started is when the attempt started, by the operator's clock.
	Started time.Time
	// Now is the present time, by the clock of the runner's node.
	Now time.Time
}

// earlier of the two: a clock that is ahead must not make all items old.
func (c Clocks) earlier() time.Time {
	if c.Started.Before(c.Now) {
		return c.Started
	}
	return c.Now
}

// disagreement says which clocks are more than an hour apart; it is empty if none are. The manifest has two times by the clock of the
// runner's node: when the runner started, soon after the attempt did, and when it wrote the manifest, for which stored is the store's time.
func (c Clocks) disagreement(m Manifest, stored time.Time) string {
	node := "the clock of the pod's node"
	for _, pair := range []struct {
		firstClock, laterClock string
		first, later           time.Time
	}{
		{"the operator's clock", node, c.Started, m.Started},
		{"the store's clock", node, stored, m.Written},
		{node, node + " when it wrote the backup", c.Now, later(c.Now, m.Written)},
	} {
		if apart := pair.later.Sub(pair.first).Abs(); apart > clockSkew {
			return fmt.Sprintf("%s and %s differ by %s (%s and %s): correct them", pair.firstClock, pair.laterClock, apart.Round(time.Minute),
				pair.first.UTC().Format(time.RFC3339), pair.later.UTC().Format(time.RFC3339))
		}
	}
	return ""
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
