package upgradeable

import "time"

const (
	// maxStretch is how long all objects together may hold the upgrade. A user who may change one object could otherwise hold it for ever,
	// with one change after another.
	maxStretch = time.Hour
	// minOpen is how long the upgrade is not held before a stretch can start. OLM looks at a version that waits when the condition changes,
	// and every 15 minutes whatever happens.
	minOpen = 30 * time.Minute
)

// stretch is the time in which objects hold the upgrade, one after the other. A pause that is shorter than minOpen belongs to it, since OLM
// may not have seen it.
type stretch struct {
	// since is when the first of them held it; zero means that there is no stretch.
	since time.Time
	// open is since when the upgrade has not been held; zero while it is.
	open time.Time
}

// update returns the stretch as it continues now. wanted says that a change is under way that should hold the upgrade.
func (s stretch) update(wanted bool, now time.Time) stretch {
	if !s.open.IsZero() && now.Sub(s.open) >= minOpen {
		s = stretch{}
	}
	if s.since.IsZero() && wanted {
		s.since = now
	}
	switch holds := wanted && now.Sub(s.since) < maxStretch; {
	case holds:
		s.open = time.Time{}
	case s.open.IsZero() && !s.since.IsZero():
		s.open = now
	}
	return s
}

// mayHold reports whether changes that are under way hold the upgrade.
func (s stretch) mayHold() bool { return s.open.IsZero() }

// startedBy returns the stretch if the upgrade was held at that time, and has been since: a leader continues the stretch of the one before.
func (s stretch) startedBy(since time.Time) stretch {
	if s.mayHold() && since.Before(s.since) {
		s.since = since
	}
	return s
}

// nextChange is how long until changes that are under way no longer hold the upgrade, or hold it again.
func (s stretch) nextChange(now time.Time) time.Duration {
	end := s.since.Add(maxStretch)
	if !s.mayHold() {
		end = s.open.Add(minOpen)
	}
	return max(end.Sub(now), conflictRequeue)
}
