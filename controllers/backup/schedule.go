package backup

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // the operator's image has no time zones

	"github.com/robfig/cron/v3"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// schedule says when backups are due: the times of a cron expression on the clocks of one time zone. Each time that a clock shows
// is due once, whatever the clock does:
//
//   - times that are left out when clocks are put forward are due together, at the moment when that happens;
//   - a time that comes twice when clocks are put back is due the first time.
type schedule struct {
	times *cron.SpecSchedule // on clocks that are never put forward or back
	zone  *time.Location
}

// parser takes what schedules of CronJobs have, but for time zones and @every, which has no times of its own.
var parser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// fieldError is what is wrong with a field of the spec.
type fieldError struct {
	field string
	error
}

// parseSchedule reads schedule and timeZone; it returns nil for a backup that is made once. Its error is a *fieldError.
func parseSchedule(o *commonv1.BackupOptions) (*schedule, error) {
	if o.Schedule == "" {
		return nil, nil
	}
	if strings.Contains(o.Schedule, "TZ") { // the parser would look for a zone, and cannot take all that follows
		return nil, &fieldError{"schedule", errors.New("set timeZone instead of TZ")}
	}
	parsed, err := parser.Parse(o.Schedule)
	if err != nil {
		return nil, &fieldError{"schedule", fmt.Errorf("%w; it is \"minute hour day-of-month month day-of-week\", such as \"30 2 * * *\"", err)}
	}
	times, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, &fieldError{"schedule",
			errors.New("@every is not supported, as it does not set times of the day; use \"*/15 * * * *\", for example")}
	}
	zone, err := time.LoadLocation(o.TimeZone)
	if err != nil || o.TimeZone == "Local" {
		return nil, &fieldError{"timeZone", fmt.Errorf("%q is not a name in the tz database, such as Europe/Berlin", o.TimeZone)}
	}
	times.Location = time.UTC
	s := &schedule{times, zone}
	if s.next(time.Unix(0, 0)).IsZero() {
		return nil, &fieldError{"schedule", errors.New("it is never due: no month has such a day")}
	}
	return s, nil
}

// next returns the first time after that at which a backup is due. It is zero if there is none within five years.
func (s *schedule) next(after time.Time) time.Time {
	local := after.In(s.zone)
	shown := wall(local)
	for {
		if shown = s.times.Next(shown); shown.IsZero() {
			return time.Time{}
		}
		if at := s.moment(shown); at.After(after) {
			return at.UTC()
		}
	}
}

// isDueAt reports whether a backup is due at exactly that time.
func (s *schedule) isDueAt(at time.Time) bool { return s.next(at.Add(-time.Nanosecond)).Equal(at) }

// wall is what a clock shows, as if it were one of UTC.
func wall(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// moment is when the zone's clocks show that for the first time, or, if they never do, when they are put forward over it. The later
// the shown time, the later the moment, or it is the same.
func (s *schedule) moment(shown time.Time) time.Time {
	near := time.Date(shown.Year(), shown.Month(), shown.Day(), shown.Hour(), shown.Minute(), shown.Second(), 0, s.zone)
	start, end := near.ZoneBounds()
	var first time.Time
	for _, instant := range []time.Time{start.Add(-time.Nanosecond), near, end} { // the zero time, where there is no bound, has an offset, too
		_, offset := instant.In(s.zone).Zone()
		at := shown.Add(-time.Duration(offset) * time.Second).In(s.zone)
		if wall(at).Equal(shown) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	switch {
	case !first.IsZero():
		return first
	case wall(near).After(shown): // near is already after the change
		return start
	}
	return end
}

const (
	// maxCounted is how many of the backups that were missed are counted at most in one go, as after a long time without operator.
	maxCounted = 1000
	// maxDeadline is the longest that spec.startingDeadline can be.
	maxDeadline = 24 * time.Hour
)

// dueUntil returns the last due time not after now, the one before it, and their number from first on, counted up to maxCounted.
func (s *schedule) dueUntil(first, now time.Time) (latest, before time.Time, count int64) {
	latest, count = first, 1
	advance := func(next time.Time) bool {
		if next.IsZero() || next.After(now) {
			return false
		}
		latest, before = next, latest
		return true
	}
	for count < maxCounted {
		if !advance(s.next(latest)) {
			return latest, before, count
		}
		count++
	}
	if near := now.Add(-maxDeadline); near.After(latest) { // what is older cannot start any more
		advance(s.next(near))
	}
	for advance(s.next(latest)) { // a day has 1440 minutes
	}
	return latest, before, count
}
