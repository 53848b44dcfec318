package backup

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

func TestConditions(t *testing.T) {
	type change = func(*databasev1alpha1.EtcdBackup)
	verified, written := *itemNamed(testItem, true), *itemNamed(testItem, false)
	phase := func(phase commonv1.BackupPhase) change {
		return func(b *databasev1alpha1.EtcdBackup) { b.Status.Run.Phase = phase }
	}
	last := func(item commonv1.BackupItem) change {
		return func(b *databasev1alpha1.EtcdBackup) {
			item.Time = *timeAt(testTime.Add(2 * time.Hour))
			if b.Status.Last = &item; item.Verified {
				b.Status.LastVerified = &item
			}
		}
	}
	failed := func(b *databasev1alpha1.EtcdBackup) {
		b.Status.LastFailure = &commonv1.BackupFailure{ScheduledTime: *timeAt(testTime), Reason: commonv1.ReasonBackupFailed, Message: "no"}
	}
	unverified := func(b *databasev1alpha1.EtcdBackup) { b.Spec.Verify = ptr.To(false) }
	suspended := func(b *databasev1alpha1.EtcdBackup) { b.Spec.Suspend = true }
	due := func(b *databasev1alpha1.EtcdBackup) { b.Status.Next = timeAt(testTime) }
	permanent := func(b *databasev1alpha1.EtcdBackup) {
		b.Status.Run.Permanent, b.Status.Run.Message = true, "NoSuchBucket"
	}
	held := func(b *databasev1alpha1.EtcdBackup) { b.Status.RetentionHeld = "data was lost" }
	warned := func(b *databasev1alpha1.EtcdBackup) { b.Status.Run.Message = "AccessDenied" }
	blocked := podOf(running("1"), "1", func(pod *corev1.Pod) {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
			Reason: corev1.PodReasonUnschedulable, Message: "no node"}}
	})
	const yes, no = "True ", "False "
	for _, c := range []struct {
		reason   string
		b        *databasev1alpha1.EtcdBackup
		pod      *corev1.Pod
		notReady string
		now      time.Time
		want     map[string]string // of a condition that is not here nothing is expected; "": there is none
	}{
		{"a schedule, and nothing was due", newBackup(hourly), nil, "", testTime,
			map[string]string{"Ready": yes + "BackupNotDue", "Progressing": no + "BackupNotDue", "Degraded": no + "AsExpected", "Complete": "",
				"Suspended": ""}},
		{"a schedule, and what it needs is not there, but nothing is due", newBackup(hourly), nil, "no cluster", testTime,
			map[string]string{"Ready": yes + "BackupNotDue", "Progressing": no + "BackupNotDue"}},
		{"due, and what it needs is not there", newBackup(hourly, due), nil, "no cluster", testTime,
			map[string]string{"Ready": no + "SourceNotReady", "Progressing": yes + "SourceNotReady", "Degraded": no + "AsExpected"}},
		{"the first", running("1", hourly), nil, "", testTime,
			map[string]string{"Ready": no + "BackupUnderWay", "Progressing": yes + "BackupUnderWay"}},
		{"the second", running("1", hourly, last(verified)), nil, "", testTime,
			map[string]string{"Ready": yes + "BackupVerified", "Progressing": yes + "BackupUnderWay"}},
		{"is tried again", running("1", phase(commonv1.BackupRetrying)), nil, "", testTime,
			map[string]string{"Ready": no + "BackupUnderWay", "Progressing": yes + "Retrying", "Degraded": no + "AsExpected", "Failed": ""}},
		{"is tried again after a refusal", running("1", permanent, phase(commonv1.BackupRetrying)), nil, "", testTime,
			map[string]string{"Progressing": yes + "Retrying", "Degraded": yes + "BackupRefused"}},
		{"the attempt after a refusal", running("1", permanent), nil, "", testTime,
			map[string]string{"Progressing": yes + "BackupUnderWay", "Degraded": yes + "BackupRefused"}},
		{"has no node", running("1"), blocked, "", testTime, map[string]string{"Degraded": yes + "PodFailing"}},
		{"verified", running("1", phase(commonv1.BackupSucceeded), last(verified)), nil, "", testTime,
			map[string]string{"Ready": yes + "BackupVerified", "Complete": yes + "BackupVerified", "Progressing": no + "BackupNotDue",
				"Failed": ""}},
		{"written", running("1", phase(commonv1.BackupSucceeded), last(written)), nil, "", testTime,
			map[string]string{"Complete": yes + "BackupWritten"}},
		{"verified, and not all was deleted", running("1", warned, phase(commonv1.BackupSucceeded), last(verified)), nil, "", testTime,
			map[string]string{"Ready": yes + "BackupVerified", "Degraded": yes + "NotDeleted"}},
		{"verified, and retention is held", running("1", warned, phase(commonv1.BackupSucceeded), last(verified), held), nil, "", testTime,
			map[string]string{"Ready": yes + "BackupVerified", "Complete": yes + "BackupVerified", "Degraded": yes + "RetentionHeld"}},
		{"retention is held, and the next one runs", running("1", hourly, last(verified), held), nil, "", testTime,
			map[string]string{"Ready": yes + "BackupVerified", "Degraded": yes + "RetentionHeld"}},
		{"failed", running("1", phase(commonv1.BackupFailed), failed), nil, "", testTime,
			map[string]string{"Ready": no + "BackupFailed", "Degraded": yes + "BackupFailed", "Failed": yes + "BackupFailed", "Complete": ""}},
		{"failed, by schedule", running("1", hourly, phase(commonv1.BackupFailed), failed, last(verified)), nil, "", testTime,
			map[string]string{"Ready": no + "BackupFailed", "Failed": ""}},
		{"suspended", newBackup(suspended), nil, "", testTime,
			map[string]string{"Suspended": yes + "SpecSuspended", "Ready": ""}},
		{"suspended, by schedule", newBackup(hourly, suspended), nil, "", testTime,
			map[string]string{"Suspended": yes + "SpecSuspended", "Ready": yes + "BackupNotDue"}},
		{"suspended too late", running("1", suspended), nil, "", testTime, map[string]string{"Suspended": no + "AlreadyStarted"}},
		{"suspended after its end", running("1", suspended, phase(commonv1.BackupSucceeded), last(verified)), nil, "", testTime,
			map[string]string{"Suspended": ""}},
		{"a backup was due since the object was created", newBackup(hourly), nil, "", testTime.Add(time.Hour),
			map[string]string{"Degraded": no + "AsExpected"}},
		{"two were", newBackup(hourly), nil, "", testTime.Add(2 * time.Hour), map[string]string{"Degraded": yes + "BackupTooOld"}},
		{"two hours have passed without a schedule", newBackup(), nil, "", testTime.Add(2 * time.Hour),
			map[string]string{"Degraded": no + "AsExpected"}},
		{"a backup was due since the newest", newBackup(hourly, last(verified)), nil, "", testTime.Add(3 * time.Hour),
			map[string]string{"Degraded": no + "AsExpected"}},
		{"two backups were due since the newest", newBackup(hourly, last(verified)), nil, "", testTime.Add(4 * time.Hour),
			map[string]string{"Degraded": yes + "BackupTooOld"}},
		{"the newest is not verified", newBackup(hourly, last(written)), nil, "", testTime.Add(3 * time.Hour),
			map[string]string{"Degraded": yes + "BackupTooOld"}},
		{"the newest need not be verified", newBackup(hourly, last(written), unverified), nil, "", testTime.Add(3 * time.Hour),
			map[string]string{"Degraded": no + "AsExpected"}},
		{"suspension was forgotten", newBackup(hourly, suspended, last(verified)), nil, "", testTime.Add(4 * time.Hour),
			map[string]string{"Ready": yes + "BackupVerified", "Degraded": yes + "BackupTooOld"}},
		{"what was due failed", newBackup(hourly, failed), nil, "", testTime.Add(4 * time.Hour),
			map[string]string{"Degraded": yes + "BackupFailed"}},
		{"the clock went back", running("1", hourly, phase(commonv1.BackupSucceeded), last(verified)), nil, "", testTime.Add(-2 * time.Hour),
			map[string]string{"Ready": yes + "BackupVerified", "Degraded": yes + "ClockBehind"}},
		{"the clock is behind the API server's, which said when the object was made", newBackup(due), nil, "", testTime.Add(-2 * time.Hour),
			map[string]string{"Ready": no + "BackupUnderWay", "Degraded": yes + "ClockBehind"}},
	} {
		s, err := parseSchedule(c.b.GetBackupOptions())
		if err != nil {
			t.Fatal(err)
		}
		updateStatus(c.b, s, nil, c.pod, c.notReady, c.now)
		for kind, want := range c.want {
			got := ""
			if found := meta.FindStatusCondition(c.b.Status.Conditions, kind); found != nil {
				got = string(found.Status) + " " + found.Reason
			}
			equal(t, c.reason+": "+kind, got, want)
		}
	}
	b := newBackup(suspended)
	updateStatus(b, nil, nil, nil, "", testTime)
	b.Spec.Suspend = false
	updateStatus(b, nil, nil, nil, "", testTime)
	if c := meta.FindStatusCondition(b.Status.Conditions, commonv1.ConditionSuspended); c.Status != metav1.ConditionFalse ||
		c.Reason != commonv1.ReasonNotSuspended {
		t.Errorf("%+v", c)
	}
}
