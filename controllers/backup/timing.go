package backup

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

const (
	// minBackoff is the time between the first failed attempt and the next, which doubles up to maxBackoff. It is maxBackoff at once
	// where only a human can fix the cause.
	minBackoff = 10 * time.Second
	maxBackoff = 5 * time.Minute
)

// retryTime is when the next attempt may start. It follows from the status alone, and so survives a restart of the operator. An attempt
// that ended later than now did so before the clock went back: the next one waits no longer for that.
func retryTime(run *commonv1.BackupRun, now time.Time) time.Time {
	backoff := maxBackoff
	if doublings := run.Attempt - 1; !run.Permanent && doublings < 5 { // 10 s * 2^5 is more than maxBackoff
		backoff = minBackoff << max(0, doublings)
	}
	ended := run.StartTime.Time // if somebody has written into the status
	if run.FinishTime != nil {
		ended = run.FinishTime.Time
	}
	if ended.After(now) {
		return now
	}
	return ended.Add(backoff)
}

// giveUpTime is the time from which no attempt at the current run starts.
func giveUpTime(b Object) time.Time {
	return b.GetBackupStatus().Run.ScheduledTime.Add(deadline(b.GetBackupOptions()))
}

// requeueAfter returns how long it takes until time alone changes what there is to do; 0 for never.
func requeueAfter(b Object, s *schedule, pod *corev1.Pod, now time.Time) time.Duration {
	var soonest time.Duration
	consider := func(at time.Time) {
		if left := at.Sub(now); left > 0 && (soonest == 0 || left < soonest) {
			soonest = left
		}
	}
	consider(tooOldTime(b, s))
	status := b.GetBackupStatus()
	if next := status.Next; next != nil {
		consider(next.Time)
		consider(next.Add(deadline(b.GetBackupOptions())))
	}
	if run := status.Run; isUnderWay(run) {
		consider(giveUpTime(b))
		if run.Phase == commonv1.BackupRetrying {
			consider(retryTime(run, now))
		}
	}
	if pod != nil && !pod.DeletionTimestamp.IsZero() {
		consider(pod.DeletionTimestamp.Add(lostAfter + time.Second))
	}
	return soonest
}
