package backup

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once"
)

// noteOutcome writes down how the current attempt ended.
func noteOutcome(b Object, o outcome, now time.Time) {
	status := b.GetBackupStatus()
	run := status.Run
	run.FinishTime, run.Message, run.Permanent = timeAt(now), o.failure, o.permanent
	if o.cleared {
		run.Leftovers = nil
	}
	if run.RawSize = max(run.RawSize, o.rawSize); o.failure == "" && o.rawSize > 0 { // data may have shrunk
		run.RawSize = o.rawSize
	}
	switch {
	case o.failure == "":
		run.Phase = commonv1.BackupSucceeded
		noteItem(status, o)
	case !o.final && retryTime(run, now).Before(giveUpTime(b)):
		run.Phase = commonv1.BackupRetrying
	default:
		noteFailure(b)
	}
}

func noteItem(status *commonv1.BackupStatus, o outcome) {
	status.Last, status.Items = ptr.To(o.item), o.items
	if o.item.Verified {
		status.LastVerified = ptr.To(o.item)
	}
	if failure := status.LastFailure; failure != nil && failure.ScheduledTime.Before(&status.Run.ScheduledTime) {
		status.LastFailure = nil
	}
	status.Run.Message, status.RetentionHeld = o.warning, o.held
	status.NotCompared, status.MembersDiffer = o.notCompared, o.membersDiffer
}

// noteFailure writes down that no further attempt follows.
func noteFailure(b Object) {
	status := b.GetBackupStatus()
	run := status.Run
	run.Phase = commonv1.BackupFailed
	if failure := status.LastFailure; failure != nil && run.ScheduledTime.Before(&failure.ScheduledTime) {
		return // a later one was missed
	}
	status.LastFailure = &commonv1.BackupFailure{
		ScheduledTime: run.ScheduledTime, Reason: commonv1.ReasonBackupFailed,
		Message: fmt.Sprintf("the backup due at %s failed after %d attempt(s): %s", shortTime(run.ScheduledTime.Time), run.Attempt, run.Message),
	}
}

// suspendedMessage says what a suspended backup waits for.
const suspendedMessage = "spec.suspend is true: no attempt starts until it is false"

// updateStatus sets the conditions. s is nil for a backup without a schedule that can be read; invalid is what is wrong with the spec,
// or nil; pod is that of the current attempt, or nil; notReady says why the source cannot be read now, and is empty if it can.
func updateStatus(b Object, s *schedule, invalid *conditions.Problem, pod *corev1.Pod, notReady string, now time.Time) {
	waits := notReady != "" && isDue(b, now) && !isUnderWay(b.GetBackupStatus().Run) && !b.GetBackupOptions().Suspend
	if !waits {
		notReady = ""
	}
	setReady(b, notReady)
	setProgressing(b, pod, notReady)
	conditions.SetDegraded(b.GetConditions(), b.GetGeneration(), invalid, mostUrgent(b, s, pod, notReady, now))
	setSuspended(b)
	if b.GetBackupOptions().Schedule == "" {
		setCompleteOrFailed(b)
	}
	conditions.Halt(b.GetConditions(), b.GetGeneration(), invalid) // last: a backup that is made once is complete all the same
}

func setReady(b Object, notReady string) {
	status := b.GetBackupStatus()
	set := func(ready bool, reason, message string) {
		conditions.Set(&status.Conditions, b.GetGeneration(), commonv1.ConditionReady, ready, reason, message)
	}
	switch last := status.Last; {
	case status.LastFailure != nil:
		set(false, status.LastFailure.Reason, status.LastFailure.Message)
	case last != nil && last.Verified:
		set(true, commonv1.ReasonBackupVerified, "backup "+last.Name+" is in the store, and a server was started from it"+comparisonNote(status))
	case last != nil:
		set(true, commonv1.ReasonBackupWritten, "backup "+last.Name+" is in the store; it was not verified, as verify was false"+
			comparisonNote(status))
	case notReady != "":
		set(false, commonv1.ReasonSourceNotReady, notReady)
	case isUnderWay(status.Run):
		set(false, commonv1.ReasonBackupUnderWay, "the first backup is being made")
	case b.GetBackupOptions().Schedule != "":
		set(true, commonv1.ReasonBackupNotDue, "no backup has been due yet")
	case b.GetBackupOptions().Suspend: // not False, which kstatus would wait for
		meta.RemoveStatusCondition(&status.Conditions, commonv1.ConditionReady)
	default:
		set(false, commonv1.ReasonBackupUnderWay, "the backup is about to start")
	}
}

// comparisonNote says whether the latest backup of an etcd was compared with another member. It is empty for a Redis.
func comparisonNote(status *commonv1.BackupStatus) string {
	switch {
	case status.Last.ComparedWith != "":
		return "; " + status.Last.ComparedWith + " had the same data"
	case status.NotCompared != "":
		return "; it was not compared with another member: " + status.NotCompared
	}
	return ""
}

func setProgressing(b Object, pod *corev1.Pod, notReady string) {
	status := b.GetBackupStatus()
	set := func(progressing bool, reason, message string) {
		conditions.Set(&status.Conditions, b.GetGeneration(), commonv1.ConditionProgressing, progressing, reason, message)
	}
	switch run := status.Run; {
	case notReady != "":
		set(true, commonv1.ReasonSourceNotReady, notReady)
	case isUnderWay(run) && run.Phase == commonv1.BackupRetrying:
		set(true, commonv1.ReasonRetrying, fmt.Sprintf("attempt %d failed, and another one follows: %s", run.Attempt, run.Message))
	case isUnderWay(run):
		set(true, commonv1.ReasonBackupUnderWay, fmt.Sprintf("attempt %d: %s", run.Attempt, podProgress(run, pod)))
	default:
		set(false, commonv1.ReasonBackupNotDue, "no backup is under way")
	}
}

// podProgress says how far an attempt is. Its words change only when the pod does.
func podProgress(run *commonv1.BackupRun, pod *corev1.Pod) string {
	if pod == nil || pod.UID != run.PodUID || once.IsGated(pod) {
		return "pod " + run.PodName + " is being created"
	}
	if wait := conditions.FirstStartupWait([]corev1.Pod{*pod}); wait != "" {
		return wait
	}
	return "pod " + run.PodName + " is running"
}

// mostUrgent is the first of what needs a human, apart from an invalid spec; nil if nothing does.
func mostUrgent(b Object, s *schedule, pod *corev1.Pod, notReady string, now time.Time) *conditions.Problem {
	status := b.GetBackupStatus()
	run := status.Run
	blocked := ""
	if isUnderWay(run) && pod != nil && pod.UID == run.PodUID {
		blocked = conditions.FirstFailure([]corev1.Pod{*pod})
	}
	switch {
	case isUnderWay(run) && run.Permanent:
		return &conditions.Problem{Reason: commonv1.ReasonBackupRefused, Message: run.Message}
	case blocked != "":
		return &conditions.Problem{Reason: commonv1.ReasonPodFailing, Message: blocked}
	case status.LastFailure != nil:
		return &conditions.Problem{Reason: status.LastFailure.Reason, Message: status.LastFailure.Message}
	case isBehind(b, now):
		return &conditions.Problem{Reason: commonv1.ReasonClockBehind, Message: "the operator's clock is behind " + shortTime(alreadyDue(b)) +
			", when a backup was already due: it is wrong now, or was ahead then. No other backup is due before that time. " +
			"Correct the clock; if it is correct, create another object with the same store"}
	case isTooOld(b, s, now):
		return &conditions.Problem{Reason: commonv1.ReasonBackupTooOld, Message: tooOldMessage(b, notReady)}
	case status.MembersDiffer != "":
		return &conditions.Problem{Reason: commonv1.ReasonMembersDiffer, Message: status.MembersDiffer + ". It is wrong: unless you have " +
			"replaced it since, delete the PersistentVolumeClaim and the pod, one member at a time, and the member is replaced"}
	case status.RetentionHeld != "":
		return &conditions.Problem{Reason: commonv1.ReasonRetentionHeld, Message: "retention deletes no backup: " + status.RetentionHeld}
	case run != nil && run.Phase == commonv1.BackupSucceeded && run.Message != "":
		return &conditions.Problem{Reason: commonv1.ReasonNotDeleted, Message: "backup " + run.Item + " is in the store; " + run.Message}
	}
	return nil
}

// setSuspended sets the condition that says what spec.suspend has led to, once it was ever true.
func setSuspended(b Object) {
	status := b.GetBackupStatus()
	set := func(suspended bool, reason, message string) {
		conditions.Set(&status.Conditions, b.GetGeneration(), commonv1.ConditionSuspended, suspended, reason, message)
	}
	run := status.Run
	switch suspend := b.GetBackupOptions().Suspend; {
	case suspend && run != nil && run.Phase == commonv1.BackupRunning:
		set(false, commonv1.ReasonAlreadyStarted, "spec.suspend was set after this attempt had started: it continues, and no other starts")
	case suspend && !hasEndedForGood(b):
		set(true, commonv1.ReasonSpecSuspended, suspendedMessage)
	case meta.FindStatusCondition(status.Conditions, commonv1.ConditionSuspended) != nil:
		set(false, commonv1.ReasonNotSuspended, "nothing is held back")
	}
}

// hasEndedForGood reports whether a backup that is made once was made, or never will be.
func hasEndedForGood(b Object) bool {
	status := b.GetBackupStatus()
	return b.GetBackupOptions().Schedule == "" && !isUnderWay(status.Run) && !lastSettled(status).IsZero()
}

// setCompleteOrFailed says how a backup ended that is made once.
func setCompleteOrFailed(b Object) {
	status := b.GetBackupStatus()
	if !hasEndedForGood(b) {
		return
	}
	if failure := status.LastFailure; failure != nil {
		conditions.Set(&status.Conditions, b.GetGeneration(), commonv1.ConditionFailed, true, failure.Reason, failure.Message)
		return
	}
	if ready := meta.FindStatusCondition(status.Conditions, commonv1.ConditionReady); ready != nil {
		conditions.Set(&status.Conditions, b.GetGeneration(), commonv1.ConditionComplete,
			ready.Status == metav1.ConditionTrue, ready.Reason, ready.Message)
	}
}
