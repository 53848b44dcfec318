package backup

import (
	"errors"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

func mustParse(t *testing.T, expression, zone string) *schedule {
	t.Helper()
	s, err := parseSchedule(&commonv1.BackupOptions{Schedule: expression, TimeZone: zone})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

func TestTheNextTime(t *testing.T) {
	for _, c := range []struct {
		reason, expression, zone, after string
		want                            []string
	}{
		{"daily in UTC", "30 2 * * *", "", "2026-01-01T02:30:00Z", []string{"2026-01-02T02:30:00Z"}},
		{"a word", "@daily", "", "2026-01-01T00:00:01Z", []string{"2026-01-02T00:00:00Z"}},
		{"in a zone", "30 2 * * *", "Europe/Berlin", "2026-01-01T00:00:00Z", []string{"2026-01-01T01:30:00Z"}},
		{"a leap day", "0 0 29 2 *", "", "2026-01-01T00:00:00Z", []string{"2028-02-29T00:00:00Z"}},

		{"Berlin goes forward over it: once, right after", "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z",
			[]string{"2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"}},
		{"Berlin goes forward over four: once", "*/15 2 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z",
			[]string{"2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"}},
		{"Berlin goes forward, each hour", "0 * * * *", "Europe/Berlin", "2026-03-28T23:30:00Z",
			[]string{"2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"}},
		{"Berlin goes back: once", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z",
			[]string{"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}},
		{"Berlin goes back, seen from the second of the two", "30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z",
			[]string{"2026-10-26T01:30:00Z"}},
		{"Berlin goes back, each half hour", "*/30 * * * *", "Europe/Berlin", "2026-10-24T23:45:00Z",
			[]string{"2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z", "2026-10-25T02:00:00Z"}},

		{"New York goes forward over it", "15 2 * * *", "America/New_York", "2026-03-07T12:00:00Z",
			[]string{"2026-03-08T07:00:00Z", "2026-03-09T06:15:00Z"}},
		{"New York goes back", "30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z",
			[]string{"2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"}},

		{"Samoa leaves out a day", "0 12 * * *", "Pacific/Apia", "2011-12-30T00:00:00Z",
			[]string{"2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z"}},
		{"a zone that goes forward by half an hour", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z",
			[]string{"2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"}},
	} {
		s, when := mustParse(t, c.expression, c.zone), at(t, c.after)
		for _, want := range c.want {
			when = s.next(when)
			if got := when.Format(time.RFC3339); got != want {
				t.Errorf("%s: got %s, want %s", c.reason, got, want)
			}
			if !s.isDueAt(when) || s.isDueAt(when.Add(time.Second)) {
				t.Errorf("%s: %s is due, and no other second", c.reason, when)
			}
		}
	}
}

func TestWhatIsNoSchedule(t *testing.T) {
	for _, c := range []struct{ expression, zone, field, says string }{
		{"soon", "", "schedule", "minute hour day-of-month"},
		{"* * * *", "", "schedule", "expected exactly 5 fields"},
		{"0 0 * * * *", "", "schedule", "expected exactly 5 fields"},
		{"60 * * * *", "", "schedule", "above maximum"},
		{"*/0 * * * *", "", "schedule", "step"},
		{"@every 1h", "", "schedule", "@every"},
		{"TZ=UTC 0 0 * * *", "", "schedule", "timeZone"},
		{"TZ=0", "", "schedule", "timeZone"},
		{"CRON_TZ=", "", "schedule", "timeZone"},
		{"0 0 30 2 *", "", "schedule", "never due"},
		{"0 0 * * *", "Europe/Bonn", "timeZone", "tz database"},
		{"0 0 * * *", "Local", "timeZone", "tz database"},
		{"0 0 * * *", "../../etc/passwd", "timeZone", "tz database"},
	} {
		_, err := parseSchedule(&commonv1.BackupOptions{Schedule: c.expression, TimeZone: c.zone})
		var wrong *fieldError
		if !errors.As(err, &wrong) || wrong.field != c.field || !strings.Contains(wrong.Error(), c.says) {
			t.Errorf("%q in %q: %v", c.expression, c.zone, err)
		}
	}
	if s, err := parseSchedule(&commonv1.BackupOptions{}); s != nil || err != nil {
		t.Error("a backup that is made once has no schedule", s, err)
	}
}

func TestUpTo(t *testing.T) {
	minutes := mustParse(t, "* * * * *", "")
	first := at(t, "2026-01-01T00:00:00Z")
	for _, c := range []struct {
		reason string
		now    time.Time
		latest time.Time
		count  int64
	}{
		{"the first itself", first, first, 1},
		{"within the minute", first.Add(59 * time.Second), first, 1},
		{"some", first.Add(10*time.Minute + time.Second), first.Add(10 * time.Minute), 11},
		{"more than are counted", first.Add(48 * time.Hour), first.Add(48 * time.Hour), maxCounted},
		{"a year", first.AddDate(1, 0, 0), first.AddDate(1, 0, 0), maxCounted},
	} {
		latest, before, count := minutes.dueUntil(first, c.now)
		if !latest.Equal(c.latest) || count != c.count || count > 1 && !before.Equal(latest.Add(-time.Minute)) {
			t.Errorf("%s: %s after %s, %d", c.reason, latest, before, count)
		}
	}
	monthly := mustParse(t, "@monthly", "")
	if latest, before, count := monthly.dueUntil(first, first.AddDate(0, 3, 5)); count != 4 || !latest.Equal(first.AddDate(0, 3, 0)) ||
		!before.Equal(first.AddDate(0, 2, 0)) {
		t.Error(latest, before, count)
	}
}

// TestEachTimeIsDueOnce plays operators that crash, sleep and start over, on clocks that jump, and backups that take long. What is saved
// survives; all else is forgotten. No time may start twice, each starts or is missed, and what starts is never late.
func TestEachTimeIsDueOnce(t *testing.T) {
	expressions := []string{"* * * * *", "*/7 * * * *", "0 * * * *", "30 2 * * *", "@weekly"}
	zones := []string{"", "Europe/Berlin", "America/New_York"}
	for seed := range int64(25) {
		random := rand.New(rand.NewSource(seed)) //nolint:gosec // a game, and it must be played again as it was
		s := mustParse(t, expressions[random.Intn(len(expressions))], zones[random.Intn(len(zones))])
		playClock(t, random, s, seed)
	}
}

func playClock(t *testing.T, random *rand.Rand, s *schedule, seed int64) {
	t.Helper()
	now := time.Date(2026, time.Month(1+random.Intn(12)), 1+random.Intn(28), random.Intn(24), random.Intn(60), 0, 0, time.UTC)
	saved := &databasev1alpha1.EtcdBackup{}
	saved.CreationTimestamp = metav1.NewTime(now)
	saved.Spec.Schedule = "set"
	saved.Spec.StartingDeadline = &metav1.Duration{Duration: time.Duration(1+random.Intn(180)) * time.Minute}
	var started []time.Time
	furthest := now
	for range 120 {
		switch random.Intn(12) {
		case 0:
			now = now.Add(-time.Duration(random.Intn(3*3600)) * time.Second)
		case 1:
			now = now.Add(time.Duration(random.Intn(5*24*3600)) * time.Second)
		default:
			now = now.Add(time.Duration(random.Intn(2*3600)) * time.Second)
		}
		furthest = later(furthest, now)
		b := saved.DeepCopy()
		if isUnderWay(b.Status.Run) && random.Intn(2) == 0 {
			b.Status.Run.Phase = commonv1.BackupSucceeded
		}
		updateNext(b, s, now, "")
		if !isUnderWay(b.Status.Run) && isDue(b, now) {
			due := b.Status.Next.Time
			b.Status.Run = nextAttempt(b, due, 1, now, "")
			updateNext(b, s, now, "")
			if isLate(&b.Spec.BackupOptions, due, now) || due.After(now) {
				t.Fatalf("seed %d: %s starts at %s", seed, due, now)
			}
			if random.Intn(4) > 0 { // else the operator dies before it is saved
				if slices.ContainsFunc(started, due.Equal) || len(started) > 0 && !due.After(started[len(started)-1]) {
					t.Fatalf("seed %d: %s starts again, after %v", seed, due, started)
				}
				started = append(started, due)
				b.Status.ObservedGeneration = 1
				saved = b
			}
			continue
		}
		b.Status.ObservedGeneration = 1
		saved = b
	}
	checkAllAreSettled(t, s, saved, len(started), furthest, seed)
}

// checkAllAreSettled counts: what was due up to the last one that is settled has started or was missed.
func checkAllAreSettled(t *testing.T, s *schedule, b *databasev1alpha1.EtcdBackup, started int, furthest time.Time, seed int64) {
	t.Helper()
	settled := later(lastSettled(&b.Status), b.CreationTimestamp.Time)
	var due int64
	for when := s.next(b.CreationTimestamp.Time); !when.IsZero() && !when.After(settled); when = s.next(when) {
		due++
	}
	if got := b.Status.Missed + int64(started); got != due {
		// What is missed while the clock is wrong is counted up to a bound.
		if b.Status.Missed < maxCounted {
			t.Errorf("seed %d: %d were due up to %s, and %d have started and %d were missed", seed, due, settled, started, b.Status.Missed)
		}
	}
	if next := b.Status.Next; next == nil || !next.After(settled) || next.After(s.next(later(furthest, settled))) {
		t.Errorf("seed %d: after %s comes %v", seed, settled, next)
	}
}

func TestUpdateNext(t *testing.T) {
	created := at(t, "2026-01-01T10:30:00Z")
	hourly := mustParse(t, "0 * * * *", "")
	running := func(scheduled string) *commonv1.BackupRun {
		return &commonv1.BackupRun{ScheduledTime: metav1.NewTime(at(t, scheduled)), Phase: commonv1.BackupRunning}
	}
	for _, c := range []struct {
		reason   string
		s        *schedule
		status   commonv1.BackupStatus
		suspend  bool
		now      string
		notReady string
		next     string
		missed   int64
		says     string
	}{
		{reason: "made", s: hourly, now: "2026-01-01T10:31:00Z", next: "2026-01-01T11:00:00Z"},
		{reason: "no operator ran when the first one was due", s: hourly, now: "2026-01-01T11:20:00Z", next: "2026-01-01T11:00:00Z"},
		{reason: "waits for its source", s: hourly, now: "2026-01-01T11:20:00Z", notReady: "no cluster", next: "2026-01-01T11:00:00Z"},
		{reason: "waits for too long, and another one is due", s: hourly, now: "2026-01-01T12:00:00Z", notReady: "no cluster",
			next: "2026-01-01T12:00:00Z", missed: 1, says: "no cluster"},
		{reason: "after days without operator", s: hourly, now: "2026-01-03T10:50:00Z", next: "2026-01-03T10:00:00Z", missed: 47,
			says: "47 backups were missed"},
		{reason: "no operator ran when the first one was due, and the API server has set the default of the status", s: hourly,
			status: commonv1.BackupStatus{ObservedGeneration: -1}, now: "2026-01-01T11:20:00Z", next: "2026-01-01T11:00:00Z"},
		{reason: "suspended", s: hourly, suspend: true, now: "2026-01-01T11:20:00Z"},
		{reason: "resumed: what was left out is not missed", s: hourly, status: commonv1.BackupStatus{ObservedGeneration: 1},
			now: "2026-01-01T12:20:00Z", next: "2026-01-01T13:00:00Z"},
		{reason: "another schedule now", s: hourly,
			status: commonv1.BackupStatus{ObservedGeneration: 1, Next: timeAt(at(t, "2026-01-01T11:17:00Z"))}, now: "2026-01-01T12:20:00Z",
			next: "2026-01-01T13:00:00Z"},
		{reason: "an earlier time by another schedule", s: hourly,
			status: commonv1.BackupStatus{ObservedGeneration: 1, Next: timeAt(at(t, "2026-01-02T00:00:00Z"))}, now: "2026-01-01T12:20:00Z",
			next: "2026-01-01T13:00:00Z"},
		{reason: "the previous one still runs", s: hourly,
			status: commonv1.BackupStatus{ObservedGeneration: 1, Run: running("2026-01-01T11:00:00Z"), Next: timeAt(at(t, "2026-01-01T12:00:00Z"))},
			now:    "2026-01-01T13:20:00Z", next: "2026-01-01T14:00:00Z", missed: 2, says: "still under way"},
		{reason: "the clock went back", s: hourly,
			status: commonv1.BackupStatus{ObservedGeneration: 1, Run: running("2026-01-01T13:00:00Z"), Next: timeAt(at(t, "2026-01-01T14:00:00Z"))},
			now:    "2026-01-01T11:20:00Z", next: "2026-01-01T14:00:00Z"},

		{reason: "once", now: "2026-01-01T10:31:00Z", next: "2026-01-01T10:30:00Z"},
		{reason: "once, and the API server has set the default of the status", status: commonv1.BackupStatus{ObservedGeneration: -1},
			now: "2026-01-01T10:31:00Z", next: "2026-01-01T10:30:00Z"},
		{reason: "a single backup is too late", now: "2026-01-01T11:30:00Z", missed: 1, says: "the operator did not start it in time"},
		{reason: "a single backup whose source never came", now: "2026-01-01T11:30:00Z", notReady: "no cluster", missed: 1, says: "no cluster"},
		{reason: "a single backup is suspended", suspend: true, now: "2026-01-01T11:30:00Z"},
		{reason: "a single backup is resumed", status: commonv1.BackupStatus{ObservedGeneration: 1}, now: "2026-01-01T15:30:00Z",
			next: "2026-01-01T15:30:00Z"},
		{reason: "a single backup has started", status: commonv1.BackupStatus{ObservedGeneration: 1, Run: running("2026-01-01T10:30:00Z")},
			now: "2026-01-01T15:30:00Z"},
	} {
		b := &databasev1alpha1.EtcdBackup{Status: c.status}
		b.CreationTimestamp, b.Spec.Suspend = metav1.NewTime(created), c.suspend
		for range 2 { // the second time changes nothing
			updateNext(b, c.s, at(t, c.now), c.notReady)
			got := ""
			if b.Status.Next != nil {
				got = b.Status.Next.UTC().Format(time.RFC3339)
			}
			if got != c.next || b.Status.Missed != c.missed {
				t.Errorf("%s: next %q, want %q; missed %d, want %d", c.reason, got, c.next, b.Status.Missed, c.missed)
			}
			if failure := b.Status.LastFailure; (failure != nil) != (c.missed > 0) || failure != nil && !strings.Contains(failure.Message, c.says) {
				t.Errorf("%s: %+v", c.reason, failure)
			}
		}
	}
}
