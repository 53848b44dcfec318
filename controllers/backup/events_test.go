package backup

import (
	"slices"
	"strings"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once/oncetest"
)

// The events of an object's life where nothing goes wrong with the operator: type, reason and action of each, and words of its note.
var (
	reportedWhenMade = []string{
		"Normal BackupVerified Ready: in the store",
		"Normal BackupVerified Complete: in the store",
		"Normal BackupVerified Backup: a server was started from it",
	}
	reportedWhenFailed = []string{
		"Warning BackupFailed Degraded: startingDeadline",
		"Warning BackupFailed Failed: startingDeadline",
		"Warning BackupFailed Backup: startingDeadline",
	}
	reportedWhenScheduled = []string{
		"Normal BackupNotDue Ready: ",
		"Normal BackupUnderWay Ready: ",
	}
)

// TestEvents : each backup that was made, failed or was missed is reported once, and so is each condition that turns.
func TestEvents(t *testing.T) {
	for name, want := range map[string][]string{
		"once":    reportedWhenMade,
		"a retry": append([]string{"Warning Retrying Backup: 500 SlowDown"}, reportedWhenMade...),
		"refused": {
			"Warning BackupRefused Degraded: NoSuchBucket",
			"Warning Retrying Backup: NoSuchBucket",
			"Warning BackupFailed Degraded: NoSuchBucket",
			"Warning BackupFailed Failed: NoSuchBucket",
			"Warning BackupFailed Backup: NoSuchBucket",
		},
		"never starts": reportedWhenFailed,
		"nothing to read": {
			"Warning BackupMissed Degraded: there is no cluster",
			"Warning BackupMissed Failed: there is no cluster",
			"Warning BackupMissed Backup: 2030-01-02 03:04 UTC",
		},
		"nothing to read at first": reportedWhenMade,
		"suspended":                {"Normal SpecSuspended Suspended: spec.suspend"},
		"resumed": append([]string{"Normal SpecSuspended Suspended: spec.suspend", "Normal NotSuspended Suspended: "},
			reportedWhenMade...),
		"by schedule": append(reportedWhenScheduled[:2:2],
			"Normal BackupVerified Ready: in the store",
			"Normal BackupVerified Backup: 20300102T040000Z-",
			"Normal BackupVerified Backup: 20300102T050000Z-",
			"Normal BackupVerified Backup: 20300102T060000Z-",
		),
		"overlapping": append(reportedWhenScheduled[:2:2],
			"Warning BackupMissed Degraded: 05:00 UTC",
			"Warning BackupMissed Backup: 05:00 UTC",
			"Warning BackupMissed Backup: 06:00 UTC",
		),
		"its pod is deleted": append([]string{"Warning Retrying Backup: pod nightly-"}, reportedWhenMade...),
		"deleted":            nil,
	} {
		t.Run(name, func(t *testing.T) {
			w := scenarios[name].play(t, &oncetest.Crash{})
			if !slices.EqualFunc(w.reported, want, isSuchEvent) {
				t.Errorf("reported:\n%s\nwant:\n%s", strings.Join(w.reported, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// isSuchEvent reports whether an event is the wanted one.
func isSuchEvent(event, want string) bool {
	head, words, _ := strings.Cut(want, ": ")
	return strings.HasPrefix(event, head+": ") && strings.Contains(event, words)
}

// checkNothingIsReportedTwice : an operator that dies right after it has written something down does not report it any more, and no other
// one reports it again.
func (f *fakeCluster) checkNothingIsReportedTwice() {
	f.t.Helper()
	for i, event := range f.reported {
		if strings.Contains(event, " "+action+": ") && slices.Contains(f.reported[:i], event) {
			f.t.Errorf("reported twice: %s", event)
		}
	}
}
