package backup

import (
	"time"

	"k8s.io/utils/ptr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// verifies reports whether each backup is to be verified.
func verifies(b Object) bool { return ptr.Deref(b.GetBackupOptions().Verify, true) }

// newest is the newest backup, or with verify the newest verified one. It is nil if there is none.
func newest(b Object) *commonv1.BackupItem {
	if verifies(b) {
		return b.GetBackupStatus().LastVerified
	}
	return b.GetBackupStatus().Last
}

// tooOldTime is the second time that is due by the schedule after the newest backup was started. The first may be late, up to the
// second; from then on somebody should look. It is zero if there is no such time.
func tooOldTime(b Object, s *schedule) time.Time {
	if s == nil {
		return time.Time{}
	}
	since := b.GetCreationTimestamp().Time
	if item := newest(b); item != nil {
		since = item.Time.Time
	}
	first := s.next(since)
	if first.IsZero() {
		return time.Time{}
	}
	return s.next(first)
}

func isTooOld(b Object, s *schedule, now time.Time) bool {
	at := tooOldTime(b, s)
	return !at.IsZero() && !now.Before(at)
}

// tooOldMessage says how old the newest backup is, and what holds the next one back. notReady says why the source cannot be read now, if
// a backup waits for it.
func tooOldMessage(b Object, notReady string) string {
	which := "backup"
	if verifies(b) {
		which = "verified backup"
	}
	message := "no " + which + " exists yet, though two were due since this object was created"
	if item := newest(b); item != nil {
		message = "the newest " + which + " is from " + shortTime(item.Time.Time) + ", and two were due since then"
	}
	run := b.GetBackupStatus().Run
	switch {
	case b.GetBackupOptions().Suspend:
		return message + ": spec.suspend is true"
	case notReady == "" && isUnderWay(run):
		return message + because(run.Message)
	}
	return message + because(notReady)
}
