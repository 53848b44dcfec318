// Package rotation has the clock of rotations: of the passwords, logins and certificates that are replaced while those who use them
// run on. It is pure.
//
// All rotations have these stages, and these words for them. The wanted one is accepted by every server, next to the published one.
// Then it is published: those who log in are given it. The one before is the former one now, and is accepted as well for an overlap.
// Then it is retired. Each stage is stored before the next starts, so that an operator that starts anywhere in between continues.
// What a kind accepts, where it publishes, and whom it waits for, is its own.
package rotation

import "time"

// End returns when a stage ends that starts now and takes that long, truncated to a whole second. Objects and Secrets keep no more:
// the operator that started the stage and one that reads it go by the same end.
func End(now time.Time, lasts time.Duration) time.Time {
	return now.Add(lasts).UTC().Truncate(time.Second)
}

// HasEnded reports whether the stage with that end is over. A stage whose end is zero has not started.
func HasEnded(end, now time.Time) bool { return !end.IsZero() && !end.After(now) }

// RecheckAfter returns how soon to look again at the stage with that end, in no less than the given time; 0 if it has not started.
func RecheckAfter(end, now time.Time, atLeast time.Duration) time.Duration {
	if end.IsZero() {
		return 0
	}
	return max(end.Sub(now), atLeast)
}
