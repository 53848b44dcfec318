package backup

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// status.next is the next time that is due. It is saved together with what became of the one before, be it a run or a failure, and is
// always after that. So no time is due twice, neither after a crash nor when a clock goes back, and none is forgotten.

// defaultDeadline is the default of spec.startingDeadline.
const defaultDeadline = time.Hour

// deadline is how late a backup may start.
func deadline(o *commonv1.BackupOptions) time.Duration {
	if o.StartingDeadline == nil {
		return defaultDeadline
	}
	return o.StartingDeadline.Duration
}

// lastSettled is the latest due time that has become a run or a failure; zero if there is none.
func lastSettled(status *commonv1.BackupStatus) time.Time {
	var at time.Time
	if status.Run != nil {
		at = status.Run.ScheduledTime.Time
	}
	if status.LastFailure != nil && status.LastFailure.ScheduledTime.After(at) {
		at = status.LastFailure.ScheduledTime.Time
	}
	return at
}

// updateNext brings status.next up to date, and writes down what was missed. s is nil for a backup that is made once. notReady says why
// the source cannot be read now; it is empty if it can.
func updateNext(b Object, s *schedule, now time.Time, notReady string) {
	status, o := b.GetBackupStatus(), b.GetBackupOptions()
	switch {
	case s == nil && lastSettled(status).IsZero():
		updateNextOnce(b, now, notReady)
	case s == nil:
		status.Next = nil
	case o.Suspend:
		status.Next = nil
	default:
		updateNextBySchedule(b, s, now, notReady)
	}
}

// isUnseen reports whether no operator has seen the object yet. The CRD's default is -1.
func isUnseen(status *commonv1.BackupStatus) bool { return status.ObservedGeneration <= 0 }

// updateNextOnce is for a backup that is made once: it is due when the object is made, or when it is resumed.
func updateNextOnce(b Object, now time.Time, notReady string) {
	status, o := b.GetBackupStatus(), b.GetBackupOptions()
	switch {
	case o.Suspend:
		status.Next = nil
	case status.Next == nil && isUnseen(status):
		status.Next = timeAt(b.GetCreationTimestamp().Time)
	case status.Next == nil:
		status.Next = timeAt(now)
	}
	if status.Next != nil && isLate(o, status.Next.Time, now) {
		noteMissed(status, status.Next.Time, 1, missedMessage(o, notReady))
		status.Next = nil
	}
}

func updateNextBySchedule(b Object, s *schedule, now time.Time, notReady string) {
	status, o := b.GetBackupStatus(), b.GetBackupOptions()
	settled := later(lastSettled(status), b.GetCreationTimestamp().Time)
	due := status.Next
	if due == nil && isUnseen(status) {
		due = nextTime(s, settled)
	}
	if due == nil || due.After(now) || !due.After(settled) || !s.isDueAt(due.Time) { // the last: the schedule is another one now
		status.Next = nextTime(s, later(now, settled))
		return
	}
	last, before, count := s.dueUntil(due.Time, now)
	switch {
	case isUnderWay(status.Run):
		noteMissed(status, last, count, "the previous one was still under way")
	case isLate(o, last, now):
		noteMissed(status, last, count, missedMessage(o, notReady))
	default:
		if count > 1 {
			noteMissed(status, before, count-1, "it had not started when the next one was due"+because(notReady))
		}
		status.Next = timeAt(last)
		return
	}
	status.Next = nextTime(s, later(now, last))
}

// isDue reports whether a backup must start now. updateNext must have been called.
func isDue(b Object, now time.Time) bool {
	next := b.GetBackupStatus().Next
	return next != nil && !next.After(now)
}

func isLate(o *commonv1.BackupOptions, due, now time.Time) bool {
	return !now.Before(due.Add(deadline(o)))
}

// tooLate says that a backup, or an attempt at it, did not start in time, and why.
func tooLate(o *commonv1.BackupOptions, why string) string {
	return fmt.Sprintf("it did not start within startingDeadline %s%s", deadline(o), because(why))
}

// missedMessage says why a backup was missed: the source could not be read, or else no operator started the backup.
func missedMessage(o *commonv1.BackupOptions, notReady string) string {
	return tooLate(o, cmp.Or(notReady, "the operator did not start it in time: it did not run, or could not write to the API server"))
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

// noteMissed writes down that backups were missed, the last of them then.
func noteMissed(status *commonv1.BackupStatus, due time.Time, count int64, why string) {
	status.Missed += count
	what := "the backup due at " + shortTime(due) + " was missed"
	if count > 1 {
		what = fmt.Sprintf("%d backups were missed, the last of them due at %s", count, shortTime(due))
		if count >= maxCounted {
			what = "at least " + what
		}
	}
	status.LastFailure = &commonv1.BackupFailure{ScheduledTime: *timeAt(due), Reason: commonv1.ReasonBackupMissed, Message: what + ": " + why}
}

// alreadyDue is the latest time at which a backup was due by the clock of then: that of a schedule, or when an object without one was
// made. It is zero if there is none.
func alreadyDue(b Object) time.Time {
	status := b.GetBackupStatus()
	if b.GetBackupOptions().Schedule == "" {
		return ptr.Deref(status.Next, metav1.Time{}).Time
	}
	return lastSettled(status)
}

// isBehind reports whether the clock is so far behind what was due already that it must have been wrong, then or now.
func isBehind(b Object, now time.Time) bool { return alreadyDue(b).After(now.Add(defaultDeadline)) }

func nextTime(s *schedule, after time.Time) *metav1.Time {
	if at := s.next(after); !at.IsZero() {
		return timeAt(at)
	}
	return nil
}

// timeAt is a time as the API server keeps it, in whole seconds.
func timeAt(t time.Time) *metav1.Time { return ptr.To(metav1.NewTime(t.UTC().Truncate(time.Second))) }

func shortTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
